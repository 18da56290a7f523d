import assert from "node:assert/strict";
import { test } from "node:test";
import { wantedBy } from "../js/room-scenes.js";

const BASE = "http://relock.example/room/K7M4XW/host";

test("a text that was copied leads to what a room can open", () => {
  for (const [text, wanted] of [
    ["http://relock.example/play#v1.z.abc-_1~3", { link: "v1.z.abc-_1~3" }],
    ["v1.z.abc", { link: "v1.z.abc~0" }],
    ["http://relock.example/learn/made?from=v1.z.abc%7E5&kind=predict", { link: "v1.z.abc~5" }],
    ["http://relock.example/learn/made?kind=break&from=v1.z.abc%7e12", { link: "v1.z.abc~12" }],
    [" /play/lease-expiry ", { example: "lease-expiry" }],
    ["https://elsewhere.example/play/fenced?lang=zh-CN", { example: "fenced" }],
    ["http://relock.example/learn/again/inner-unlock", { item: "again/inner-unlock" }],
    ["http://relock.example/s/Qx7", { short: "/s/Qx7" }],
  ]) {
    assert.deepEqual(wantedBy(text, BASE), wanted, text);
  }
  for (const text of ["", "fenced", "http://relock.example/room", "http://["]) {
    assert.equal(wantedBy(text, BASE), null, text);
  }
});
