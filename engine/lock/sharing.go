package lock

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// sharing refuses an owner that enters a lock through two Lockers at once: each
// would keep its own count of levels, and the last unlock through one would
// release the other's. Sequenced tells Lockers apart in Redis. Reentrant, which
// keeps only {owner: hold count} there, can tell them apart only within a
// process.
type sharing struct{ server any } // nil: nothing to refuse

type carriedOwner struct {
	server any
	sessionKey
}

// carried records which Locker each owner in use belongs to.
var carried = struct {
	sync.Mutex
	by map[carriedOwner]*Locker
}{by: map[carriedOwner]*Locker{}}

// take records that s is in use, and reports false if another Locker uses its
// owner.
func (sh sharing) take(s *session) bool {
	if sh.server == nil {
		return true
	}
	carried.Lock()
	defer carried.Unlock()
	k := carriedOwner{sh.server, s.sessionKey}
	if by := carried.by[k]; by != nil && by != s.l {
		return false
	}
	carried.by[k] = s.l
	return true
}

// release undoes take.
func (sh sharing) release(s *session) {
	if sh.server == nil {
		return
	}
	carried.Lock()
	defer carried.Unlock()
	k := carriedOwner{sh.server, s.sessionKey}
	if carried.by[k] == s.l {
		delete(carried.by, k)
	}
}

// serverOf returns a value that is equal for clients of the same server, or nil
// if that cannot be told.
func serverOf(client Redis) any {
	switch c := client.(type) {
	case *redis.Client:
		o := c.Options()
		return fmt.Sprintf("%s %s %d", o.Network, o.Addr, o.DB)
	case *redis.ClusterClient:
		return fmt.Sprint("cluster", slices.Sorted(slices.Values(c.Options().Addrs)))
	case *redis.Ring:
		return fmt.Sprint("ring", slices.Sorted(maps.Values(c.Options().Addrs)))
	}
	if client != nil && reflect.TypeOf(client).Comparable() {
		return client
	}
	return nil
}
