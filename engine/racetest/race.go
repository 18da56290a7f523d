//go:build race

package racetest

const watching = true
