package board

// Request is a command on its way to its referee, or a report of a server itself.
type Request struct {
	Conn    string  `json:"conn,omitempty"`   // the connection it came by
	Member  string  `json:"member,omitempty"` // who makes it, "" before joining
	Lang    string  `json:"lang,omitempty"`   // in which a refusal is worded
	Command Command `json:"command"`

	// Of a join: proofs of the secret and the token that came with it, and of
	// the token that a new member will have.
	Secret string `json:"secret,omitempty"`
	Token  string `json:"token,omitempty"`
	Fresh  string `json:"fresh,omitempty"`
	From   string `json:"from,omitempty"` // where it comes from, a digest

	Left bool     `json:"left,omitempty"` // the connection is gone
	Gone []string `json:"gone,omitempty"` // servers whose connections are all gone

	Spare bool `json:"spare,omitempty"` // the room ends if nobody is there: others need its place
}
