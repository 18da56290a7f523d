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
	question := schemaOf(scenario.Object{
		"text":    described(schemaOfWords(MaxText, true), "what the class is asked"),
		"options": described(scenario.Object{"type": "array", "minItems": MinOptions, "maxItems": MaxOptions, "items": schemaOfWords(MaxOption, true)}, "what it can answer"),
		"right":   described(scenario.Object{"type": "integer", "minimum": 1, "maximum": MaxOptions}, "the number of the right option, from 1"),
	}, "text", "options", "right")
	step := schemaOf(scenario.Object{
		"title":    described(schemaOfWords(MaxTitle, false), "what the step is called; its scene's title if left out"),
		"example":  described(anything, "the name of a bundled scenario"),
		"scenario": described(own, "a scenario of your own"),
		"link":     described(anything, "what a page of the playground is called, from its v= on"),
		"item":     described(anything, "an item of the course: chapter/item"),
		"chapter":  described(anything, "a chapter of the course: all that it can ask a class"),
		"at":       described(scenario.Object{"type": "string", "pattern": `^T(0|[1-9][0-9]{0,4})$`}, fmt.Sprintf("the row after which the class stands, T0 to T%d; T0 is the start", MaxRow)),
		"hold":     described(scenario.Object{"type": "boolean"}, "true: the host leads from here on; false: the class plays"),
		"ask":      described(scenario.Object{"enum": []any{AskPredict, AskItem}}, "predict: what is seen next; item: what the item of the course asks"),
		"question": described(question, "a question of your own"),
		"notes":    described(schemaOfWords(MaxNotes, false), "for the host alone"),
	})
	s := schemaOf(scenario.Object{
		"title": described(schemaOfWords(MaxTitle, true), "what the lesson is called"),
		"steps": described(scenario.Object{"type": "array", "minItems": 1, "maxItems": MaxSteps, "items": step}, "what the class goes through; a step that names no scenario stays in that of the one before"),
	}, "title", "steps")
	s["$schema"], s["title"], s["description"] = scenario.Dialect, "Relock lesson", "What a class goes through in a room, step by step: places in runs, questions, and notes for the host."
	return s
}

// schemaOf is that of a map with these keys and no others.
func schemaOf(keys scenario.Object, required ...string) scenario.Object {
	s := scenario.Object{"type": "object", "additionalProperties": false, "properties": keys}
	if len(required) > 0 {
		s["required"] = required
	}
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
	each := schemaOf(by)
	each["minProperties"] = 1
	return scenario.Object{"anyOf": []any{text, each}}
}

func described(s scenario.Object, as string) scenario.Object {
	s["description"] = as
	return s
}
