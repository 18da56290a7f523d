// Package invoice has a program for each lock that package advice recommends,
// short enough to be copied. They are shown as they are here, so that what is
// shown compiles, and is tested.
package invoice
