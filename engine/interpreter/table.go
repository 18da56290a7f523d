package interpreter

import (
	"math"
	"math/bits"
)

// table is Lua 5.1's, with an array and a hash of nodes that grow as there: how long a
// list with holes is, and in which order pairs goes through a table, follow from where a
// value lies.
type table struct {
	array    []value
	nodes    []node // a power of two of them, or none
	free     int    // no node from there on is free
	meta     *table
	readonly bool
	id       uint64 // what the hash of a table is, in place of an address
}

// node is a key's place. Its key stays when its value is gone.
type node struct {
	key, value value
	next       int32 // of those with the same place, or 0; counted from 1
}

const mostArray = 1 << 26 // places of an array

// hashOf is Lua's hash of a text: of a long one not all bytes count.
func hashOf(s string) uint32 {
	h := uint32(len(s))
	step := len(s)>>5 + 1
	for n := len(s); n >= step; n -= step {
		h ^= h<<5 + h>>2 + uint32(s[n-1])
	}
	return h
}

// place is where a key's node is, if it is free.
func (t *table) place(key value) int32 {
	size := uint64(len(t.nodes))
	other := (size - 1) | 1
	switch k := key.(type) {
	case string:
		return int32(uint64(hashOf(k)) & (size - 1))
	case float64:
		if k == 0 {
			return 0
		}
		b := math.Float64bits(k)
		return int32(uint64(uint32(b)+uint32(b>>32)) % other)
	case bool:
		if k {
			return int32(1 & (size - 1))
		}
		return 0
	case *table:
		return int32(k.id % other)
	case *function:
		return int32(k.id % other)
	default:
		return 0
	}
}

// index is a key's place in an array, from 1, or 0.
func index(key float64) int {
	if n := int(key); float64(n) == key && n > 0 && n <= mostArray {
		return n
	}
	return 0
}

func (t *table) get(key value) value {
	switch k := key.(type) {
	case string:
		return t.text(k, hashOf(k))
	case float64:
		return t.number(k)
	}
	if n := t.find(key); n != nil {
		return n.value
	}
	return nil
}

// text is the value of a key whose hash is known.
func (t *table) text(key string, hash uint32) value {
	if n := t.textNode(key, hash); n != nil {
		return n.value
	}
	return nil
}

func (t *table) textNode(key string, hash uint32) *node {
	if len(t.nodes) == 0 {
		return nil
	}
	for at := int32(hash&uint32(len(t.nodes)-1)) + 1; at > 0; {
		n := &t.nodes[at-1]
		if k, ok := n.key.(string); ok && k == key {
			return n
		}
		at = n.next
	}
	return nil
}

func (t *table) number(key float64) value {
	if n := int(key); float64(n) == key && uint(n-1) < uint(len(t.array)) {
		return t.array[n-1]
	}
	if n := t.find(key); n != nil {
		return n.value
	}
	return nil
}

func (t *table) at(n int) value { return t.number(float64(n)) }

func (t *table) find(key value) *node {
	if len(t.nodes) == 0 || key == nil {
		return nil
	}
	for at := t.place(key) + 1; at > 0; {
		n := &t.nodes[at-1]
		if n.key == key {
			return n
		}
		at = n.next
	}
	return nil
}

// set sets a key that is neither nil nor NaN, whatever the metatable says.
func (t *table) set(key, v value) { *t.slot(key) = v }

func (t *table) setAt(n int, v value) { t.set(float64(n), v) }

func (t *table) setText(key string, v value) { t.set(key, v) }

// slot is where a key's value is, which has one from now on.
func (t *table) slot(key value) *value {
	switch k := key.(type) {
	case float64:
		if n := int(k); float64(n) == k && uint(n-1) < uint(len(t.array)) {
			return &t.array[n-1]
		}
		if n := t.find(key); n != nil {
			return &n.value
		}
	case string:
		if n := t.textNode(k, hashOf(k)); n != nil {
			return &n.value
		}
	default:
		if n := t.find(key); n != nil {
			return &n.value
		}
	}
	return t.added(key)
}

// added gives a new key a node: its own place, or a free one. Who lies in its place and
// has another of its own moves away.
func (t *table) added(key value) *value {
	if len(t.nodes) == 0 {
		t.grow(key)
		return t.slot(key)
	}
	at := t.place(key)
	if t.nodes[at].value != nil {
		free := t.freeNode()
		if free < 0 {
			t.grow(key)
			return t.slot(key)
		}
		if other := t.place(t.nodes[at].key); other != at {
			for t.nodes[other].next != at+1 {
				other = t.nodes[other].next - 1
			}
			t.nodes[other].next = free + 1
			t.nodes[free] = t.nodes[at]
			t.nodes[at] = node{}
		} else {
			t.nodes[free].next = t.nodes[at].next
			t.nodes[at].next = free + 1
			at = free
		}
	}
	t.nodes[at].key = key
	return &t.nodes[at].value
}

func (t *table) freeNode() int32 {
	for t.free > 0 {
		if t.free--; t.nodes[t.free].key == nil {
			return int32(t.free)
		}
	}
	return -1
}

// counts are how many keys are in (2^(n-1), 2^n], of those that an array may have.
type counts [27]int

// take counts a key, and reports whether an array may have it.
func (c *counts) take(key value) bool {
	k, ok := key.(float64)
	if n := index(k); ok && n > 0 {
		c[bits.Len(uint(n-1))]++
		return true
	}
	return false
}

// grow makes room for one more key: an array as long as more than half of it is in use,
// and nodes for the others.
func (t *table) grow(key value) {
	var c counts
	ints, all := 0, 0
	for n, v := range t.array {
		if v != nil {
			c[bits.Len(uint(n))]++
			ints++
			all++
		}
	}
	for n := range t.nodes {
		if t.nodes[n].value != nil {
			if c.take(t.nodes[n].key) {
				ints++
			}
			all++
		}
	}
	if c.take(key) {
		ints++
	}
	all++
	size, inside, below := 0, 0, 0
	for n, most := 0, 1; most/2 < ints; n, most = n+1, most*2 {
		if c[n] > 0 {
			if below += c[n]; below > most/2 {
				size, inside = most, below
			}
		}
		if below == ints {
			break
		}
	}
	t.resize(size, all-inside)
}

// resize gives the table an array of a length, and nodes for so many keys at least.
func (t *table) resize(array, nodes int) {
	oldArray, oldNodes := t.array, t.nodes
	t.array = make([]value, array)
	copy(t.array, oldArray)
	if t.nodes, t.free = nil, 0; nodes > 0 {
		t.free = 1 << bits.Len(uint(nodes-1))
		t.nodes = make([]node, t.free)
	}
	for n := array; n < len(oldArray); n++ {
		if oldArray[n] != nil {
			t.setAt(n+1, oldArray[n])
		}
	}
	for n := len(oldNodes) - 1; n >= 0; n-- {
		if oldNodes[n].value != nil {
			t.set(oldNodes[n].key, oldNodes[n].value)
		}
	}
}

// fill sets a constructor's values behind so many that it has set before.
func (t *table) fill(before int, list []value) {
	if before+len(list) > len(t.array) {
		t.resize(before+len(list), len(t.nodes))
	}
	copy(t.array[before:], list)
}

// length is one of the places behind which there is nothing, and the one that Lua finds.
func (t *table) length() int {
	size := len(t.array)
	if size > 0 && t.array[size-1] == nil {
		low, high := 0, size
		for high-low > 1 {
			if middle := (low + high) / 2; t.array[middle-1] == nil {
				high = middle
			} else {
				low = middle
			}
		}
		return low
	}
	if len(t.nodes) == 0 {
		return size
	}
	low, high := size, size+1
	for t.at(high) != nil {
		low = high
		if high *= 2; high > math.MaxInt32 {
			for low = 1; t.at(low) != nil; low++ {
			}
			return low - 1
		}
	}
	for high-low > 1 {
		if middle := (low + high) / 2; t.at(middle) == nil {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}

// next is the entry behind a key, nil at the end; and not ok, if there is no such key.
func (t *table) next(key value) (k, v value, ok bool) {
	at := 0
	if key != nil {
		n, is := key.(float64)
		if i := index(n); is && i > 0 && i <= len(t.array) {
			at = i
		} else {
			for place := t.place(key) + 1; ; place = t.nodes[place-1].next {
				if len(t.nodes) == 0 || place == 0 {
					return nil, nil, false
				}
				if t.nodes[place-1].key == key {
					at = len(t.array) + int(place)
					break
				}
			}
		}
	}
	for ; at < len(t.array); at++ {
		if t.array[at] != nil {
			return float64(at + 1), t.array[at], true
		}
	}
	for at -= len(t.array); at < len(t.nodes); at++ {
		if n := &t.nodes[at]; n.value != nil {
			return n.key, n.value, true
		}
	}
	return nil, nil, true
}

// each goes through the table as pairs does.
func (t *table) each(do func(key, v value)) {
	for n, v := range t.array {
		if v != nil {
			do(float64(n+1), v)
		}
	}
	for n := range t.nodes {
		if t.nodes[n].value != nil {
			do(t.nodes[n].key, t.nodes[n].value)
		}
	}
}

// rounded is how many places Lua writes into the instruction that makes a table, in a byte.
func rounded(n int) int {
	shift := 0
	for n >= 16 {
		n, shift = (n+1)>>1, shift+1
	}
	return n << shift
}
