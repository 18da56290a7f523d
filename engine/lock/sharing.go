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
// would count its levels alone, and the last unlock of one would release the
// other's. Sequenced tells Lockers apart in Redis. Reentrant, which keeps
// nothing there but {owner: hold count}, can tell them apart within a process.
type sharing struct{ server any } // nil: nothing to refuse

type carriedOwner struct {
	server any
	sessionKey
}

// carried are the owners in use, and through which Locker.
var carried = struct {
	sync.Mutex
	by map[carriedOwner]*Locker
}{by: map[carriedOwner]*Locker{}}

// take notes that s is in use, unless another Locker uses its owner.
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

// release ends what take noted.
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

// serverOf tells servers apart: clients of one server have the same.
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
