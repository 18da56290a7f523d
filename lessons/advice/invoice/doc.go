// Package invoice has a program for each lock that package advice recommends,
// short enough to copy. The page shows these files, so the shown code compiles
// and is tested.
package invoice
