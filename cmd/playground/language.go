package main

import (
	"flag"
	"fmt"
	"strings"

	"relock/web/words"
)

// languageFlag adds -lang, the language of a command's output.
func languageFlag(fs *flag.FlagSet) *words.Language {
	var codes []string
	for _, l := range words.All() {
		codes = append(codes, l.Code())
	}
	chosen := words.English
	fs.Func("lang", "print in the language of this `TAG`: "+strings.Join(codes, ", ")+" (default en)", func(tag string) error {
		l, ok := words.BuiltIn().Find(tag)
		if !ok {
			return fmt.Errorf("allowed: %s", strings.Join(codes, ", "))
		}
		chosen = l
		return nil
	})
	return &chosen
}
