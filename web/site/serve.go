package site

import (
	"net/http"

	"relock/web/site/limit"
	"relock/web/site/turn"
	"relock/web/site/wire"
)

// New returns a site. Close ends it.
func New(c Config) *Site {
	s := &Site{
		config:    c,
		Languages: c.Languages, Static: c.Static, Turns: newTurns(), Waiting: limit.NewWaiting(waitingOfAddress, waitingOfAll),
		Patience: usualPatience, Pace: usualPace,
		log: c.Log, public: c.PublicURL, proxies: c.Proxies, listening: c.Listening, tls: c.Secure != nil,
		refusals: newRefusalLog(c.Log), same: newReady(), large: turn.New(largeAtOnce, largeOfAddress), coming: newComing(),
	}
	s.Upgrader = wire.NewUpgrader(s.sameOrigin, s.noSocket, s.sent)
	return s
}

// Close tells the other servers of the site that this one has ended, and returns
// when nothing is handed on any more.
func (s *Site) Close() { s.peers.Close() }

// Around returns what answers requests by routes: it knows the visitor, sends
// what the routes answer, and lets nobody else in. From now on other servers of
// the site find this one.
func (s *Site) Around(routes http.Handler) (http.Handler, error) {
	answer, err := s.protected(routes)
	if err != nil {
		return nil, err
	}
	s.join(s.config)
	return s.accepted(s.located(s.logged(compressed(s.secured(s.named(answer)))))), nil
}
