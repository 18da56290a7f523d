// How a page comes into a room, and stays the member that it was.
import { line } from "./line.js";
import { keep } from "./room-links.js";

/**
 * The line of a page that is in a room. It comes back as soon as the page is
 * looked at, or the network is there.
 * @param {string} code of the room
 * @param {string} name by which the tab keeps who one is, or with device all tabs do
 * @param {Omit<import("./line.js").On, "join" | "sent"> & Pick<import("./line.js").Join, "as" | "joined"> & {device?: boolean}} on
 * @param {Parameters<typeof line>[1]} [with_] other parts, in tests
 */
export function enter(code, name, { as, joined, frame, device = false, ...on }, with_) {
  const made = line(
    {
      ...on,
      join: { as, joined, keeper: keeper(name, () => (device ? localStorage : sessionStorage)), there: () => isThere(code) },
      frame(one) {
        if (one.branches) {
          keep(one.branches);
        } else {
          frame(one);
        }
      },
    },
    with_,
  );
  wakeful(made.hurry);
  return made;
}

/**
 * Keeps who one is: while a tab is open, or on a device. So a phone is one member,
 * however many tabs it has, and somebody who was sent away stays away.
 * @param {string} name
 * @param {() => Storage} storage fails where there is none
 */
const keeper = (name, storage) => ({
  /** @returns {import("./line.js").Membership | null} */
  read() {
    try {
      return JSON.parse(storage().getItem(name) ?? "null");
    } catch {
      return null;
    }
  },
  /** @param {import("./line.js").Membership | null} who */
  write(who) {
    try {
      if (who) {
        storage().setItem(name, JSON.stringify(who));
      } else {
        storage().removeItem(name);
      }
    } catch {
      // No storage: one is somebody else after a reload.
    }
  },
});

/** Whether there is a room. @param {string} code */
async function isThere(code) {
  const answer = await fetch(`/room/${code}`, { method: "HEAD" });
  return answer.status !== 404;
}

/** @param {() => void} hurry when the page is looked at again, or the network is there */
function wakeful(hurry) {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
      hurry();
    }
  });
  document.addEventListener("resume", hurry);
  addEventListener("online", hurry);
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      hurry();
    }
  });
}
