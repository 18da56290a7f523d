// One act after the other: clicks wait for the act that runs.

/** @param {number} most acts that wait; others are dropped, so that a key that is held does not run ahead */
export function turns(most) {
  let under = 0;
  /** @type {(() => void)[]} */
  let queue = [];

  function next() {
    while (under === 0 && queue.length > 0) {
      queue.shift()?.();
    }
  }

  return {
    busy: () => under > 0,
    /** Acts when nothing is under way. @param {() => void} act */
    inTurn(act) {
      if (under === 0) {
        act();
      } else if (queue.length < most) {
        queue.push(act);
      }
    },
    /** Has something under way until it is over.
     *  @param {() => Promise<void>} work */
    async during(work) {
      under++;
      try {
        await work();
      } finally {
        under--;
        next();
      }
    },
    /** Forgets what waits. */
    clear() {
      queue = [];
    },
  };
}
