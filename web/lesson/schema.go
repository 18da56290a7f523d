package lesson

import (
	"fmt"

	"relock/engine/scenario"
	"relock/web/words"
)

// Schema returns the JSON Schema of a lesson's file: draft-07, with no references.
// What depends on other parts (whether a chapter or a link has a place of its own,
// whether two options are the same, whether a scenario holds together) only Parse
// refuses. The result is the caller's own.
func Schema() scenario.Object {
	own := scenario.Schema()
	delete(own, "$schema")
	anything := scenario.Object{"type": "string", "minLength": 1}
	question := scenario.Required(scenario.MapOf(scenario.Object{
		"text":    scenario.Described(schemaOfWords(MaxText, true), "what the class is asked"),
		"options": scenario.Described(scenario.Object{"type": "array", "minItems": MinOptions, "maxItems": MaxOptions, "items": schemaOfWords(MaxOption, true)}, "what it can answer"),
		"right":   scenario.Described(scenario.Object{"type": "integer", "minimum": 1, "maximum": MaxOptions}, "the number of the right option, from 1"),
	}), "text", "options", "right")
	step := scenario.MapOf(scenario.Object{
		"title":    scenario.Described(schemaOfWords(MaxTitle, false), "what the step is called; its scene's title if left out"),
		"example":  scenario.Described(anything, "the name of a bundled scenario"),
		"scenario": scenario.Described(own, "a scenario of your own"),
		"link":     scenario.Described(anything, "what a page of the playground is called, from its v= on"),
		"item":     scenario.Described(anything, "an item of the course: chapter/item"),
		"chapter":  scenario.Described(anything, "a chapter of the course: all that it can ask a class"),
		"at":       scenario.Described(scenario.Object{"type": "string", "pattern": `^T(0|[1-9][0-9]{0,4})$`}, fmt.Sprintf("the row after which the class stands, T0 to T%d; T0 is the start", MaxRow)),
		"hold":     scenario.Described(scenario.Object{"type": "boolean"}, "true: the host leads from here on; false: the class plays"),
		"ask":      scenario.Described(scenario.Object{"enum": []any{AskPredict, AskItem}}, "predict: what is seen next; item: what the item of the course asks"),
		"question": scenario.Described(question, "a question of your own"),
		"notes":    scenario.Described(schemaOfWords(MaxNotes, false), "for the host alone"),
	})
	s := scenario.Required(scenario.MapOf(scenario.Object{
		"title": scenario.Described(schemaOfWords(MaxTitle, true), "what the lesson is called"),
		"steps": scenario.Described(scenario.Object{"type": "array", "minItems": 1, "maxItems": MaxSteps, "items": step}, "what the class goes through; a step that names no scenario stays in that of the one before"),
	}), "title", "steps")
	s["$schema"], s["title"], s["description"] = scenario.Dialect, "Relock lesson", "What a class goes through in a room, step by step: places in runs, questions, and notes for the host."
	return s
}

// schemaOfWords is that of a text, one for all languages or one for each.
func schemaOfWords(most int, needed bool) scenario.Object {
	text := scenario.Object{"type": []any{"string", "null"}, "maxLength": most}
	if needed {
		text = scenario.Object{"type": "string", "maxLength": most, "pattern": `\S`}
	}
	by := scenario.Object{}
	for _, l := range words.All() {
		by[l.Code()] = text
	}
	each := scenario.MapOf(by)
	each["minProperties"] = 1
	return scenario.Object{"anyOf": []any{text, each}}
}
