package main

import "context"

func serve(ctx context.Context, args []string, env environment) int { return 0 }
func printServeFlags(env environment)                               {}
