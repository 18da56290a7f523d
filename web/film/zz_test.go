package film_test
import ("testing";"fmt";"os";"relock/web/film";"relock/web/words";"relock/lessons/lessonstest")
func TestZZ(t *testing.T){
 name := os.Getenv("NAME")
 p := lessonstest.Play(t, name)
 f := film.New(words.English, p.Scenario, p.Owners)
 for _, e := range p.Events { f.Add(e) }
 for _, r := range f.Rows() {
  fmt.Printf("== T%d %s | %s | %s\n", r.Step, r.At, r.Broken, r.Why)
  s := r.Stage
  for i, b := range s.Beliefs { fmt.Printf("   %d %s/%s says=%q does=%q odd=%q tie=%q need=%q wrong=%v paused=%v calls=%v beat=%q\n", i, b.State, b.Cord, b.Says, b.Does, b.Odd, b.Tie, b.Need, b.Wrong, b.Paused, b.Calls, b.Beat) }
  c := s.Card
  fmt.Printf("   card %v %q %q odd=%q %v queue=%v res=%+v\n", c.Owners, c.Held, c.Raw, c.Odd, c.Wrong, c.Queue, c.Resource)
  for _, n := range s.Nodes { fmt.Printf("     node %+v\n", n) }
 }
}
