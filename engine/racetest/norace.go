//go:build !race

package racetest

const watching = false
