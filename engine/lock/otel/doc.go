// Package otel shows the lock's Observer as OpenTelemetry spans and metrics, in
// an example to copy: it has nothing to import. It is a separate module, so the lock does
// not depend on OpenTelemetry.
package otel
