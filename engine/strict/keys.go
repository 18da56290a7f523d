package strict

// Key is a key of a map that is read into a T.
type Key[T any] struct {
	Name   string
	Says   string // what editors show of it
	Schema Object // of its value, without Says
	Read   func(r *Reader, v Value, into *T)
}

// Keys are all keys that a map can have, in the order in which mistakes list them and in
// which they are read.
type Keys[T any] []Key[T]

// Names returns the names of the keys.
func (k Keys[T]) Names() []string {
	names := make([]string, len(k))
	for i, one := range k {
		names[i] = one.Name
	}
	return names
}

// Read reads a map, and returns what it has: nil for what is no map.
func (k Keys[T]) Read(r *Reader, v Value, into *T) Map {
	given := r.Fields(v, k.Names()...)
	for _, one := range k {
		if at, there := given[one.Name]; there {
			one.Read(r, at, into)
		}
	}
	return given
}

// Object returns the schema of such a map.
func (k Keys[T]) Object() Object {
	properties := Object{}
	for _, one := range k {
		properties[one.Name] = Described(one.Schema, one.Says)
	}
	return MapOf(properties)
}
