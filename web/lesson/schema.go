package lesson

import (
	"relock/engine/strict"
	"relock/web/words"
)

// Schema returns the JSON Schema of a lesson's file: draft-07, with no references.
// What depends on other parts (whether a chapter or a link has a place of its own,
// whether two options are the same, whether a scenario holds together) only Parse
// refuses. The result is the caller's own.
func Schema() strict.Object {
	s := strict.Required(lessonKeys().Object(), "title", "steps")
	s["$schema"], s["title"], s["description"] = strict.Dialect, "Relock lesson", "What a class goes through in a room, step by step: places in runs, questions, and notes for the host."
	return s
}

// schemaOfWords is that of a text, one for all languages or one for each.
func schemaOfWords(most int, needed bool) strict.Object {
	text := strict.Object{"type": []any{"string", "null"}, "maxLength": most}
	if needed {
		text = strict.Object{"type": "string", "maxLength": most, "pattern": `\S`}
	}
	by := strict.Object{}
	for _, l := range words.All() {
		by[l.Code()] = text
	}
	return strict.Object{"anyOf": []any{text, strict.With(strict.MapOf(by), "minProperties", 1)}}
}
