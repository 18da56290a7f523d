package page

// Scene is a small picture of what there is at one place of a run.
type Scene struct {
	Caption  string
	Inside   []SceneThread // in what the lock protects
	Outside  []SceneThread
	Holders  []SceneThread // of the key
	Key      string        // what there is to say of the key beside them
	Resource string        // or "" without one
	Broken   []string      // what people call the rules that were broken
}

// SceneThread is a thread on it.
type SceneThread struct {
	Name    string
	Ordinal int
}
