// playground lab -- java -cp redisson-all.jar Worker.java        (Redisson 3; not run by us: no Maven repository was in reach)
import java.io.*;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

class Worker {
  public static void main(String[] args) throws Exception {
    Config config = new Config();
    config.useSingleServer().setAddress(System.getenv("REDIS_URL")).setRetryAttempts(0).setConnectionPoolSize(1).setConnectionMinimumIdleSize(1);
    Socket s = new Socket(System.getenv("REDIS_HOST"), Integer.parseInt(System.getenv("REDIS_PORT"))); // Redisson has no ECHO
    BufferedReader in = new BufferedReader(new InputStreamReader(s.getInputStream()));
    for (RLock lock = Redisson.create(config).getLock("invoice:7"); mark(s, in, "relock:round");) {
      try {
        if (lock.tryLock(0, 2000, TimeUnit.MILLISECONDS)) { mark(s, in, "relock:enter"); mark(s, in, "relock:leave"); lock.unlock(); }
      } catch (RuntimeException e) { } // a lost reply, or a lock that is no longer ours
    }
  }
  static boolean mark(Socket s, BufferedReader in, String text) throws IOException {
    s.getOutputStream().write(("*2\r\n$4\r\nECHO\r\n$" + text.length() + "\r\n" + text + "\r\n").getBytes());
    return in.readLine() != null && in.readLine() != null;
  }
}
