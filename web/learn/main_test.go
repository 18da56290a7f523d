package learn_test

import (
	"testing"

	"relock/engine/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }
