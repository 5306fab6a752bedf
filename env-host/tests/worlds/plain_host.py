"""A host of a world of its own, written from docs/host-protocol.md alone: two seats count together to twenty."""

import json
import struct
import sys
from hashlib import sha256

FACTS = {
    "coplay_host": 1,
    "spec": {
        "id": "count",
        "version": "1",
        "title": "Count",
        "seats": 2,
        "actions": [
            {"name": "wait", "momentary": False, "keys": []},
            {"name": "add", "momentary": True, "keys": ["Space"]},
        ],
        "noop": 0,
        "observation": [{"name": "sum", "shape": [1]}],
        "tick_hz": 0,
        "horizon": 50,
        "events": ["added"],
    },
}


class Count:
    def reset(self, seed):
        self.sum, self.steps, self.turn = seed % 5, 0, 0
        return self.result([0, 0], [])

    def step(self, actions):
        added = actions[self.turn]
        self.sum += added
        events = [(0, self.turn, 255, 1.0)] if added else []
        rewards = [added, added]
        self.turn = 1 - self.turn
        self.steps += 1
        return self.result(rewards, events)

    def values(self):
        return struct.pack("<f", self.sum)

    def result(self, rewards, events):
        reached, late = self.sum >= 20, self.steps >= 50
        observed = sha256(self.values()).digest()[:8]
        body = struct.pack("<BBHHHq", reached or late, 2, 1 << self.turn, 3 * reached, 3 * late, self.sum)
        for seat in range(2):
            legal = 0b11 if seat == self.turn else 0b01
            body += struct.pack("<fqQ", rewards[seat], self.sum, legal) + observed
        body += struct.pack("<H", len(events))
        return body + b"".join(struct.pack("<HBBf", *event) for event in events)

    def picture(self):
        text = [0, 0.0, 0.0, 4.0, 1.0, "text", str(self.sum), 255]
        return json.dumps({"width": 4.0, "height": 1.0, "background": 0xFFFFFFFF, "items": [text]}).encode()


def main():
    world = Count()
    while header := sys.stdin.buffer.read(5):
        length, kind = struct.unpack("<IB", header)
        body = sys.stdin.buffer.read(length)
        if kind == 1:
            answer = 0x81, json.dumps(FACTS).encode()
        elif kind == 2:
            answer = 0x82, world.reset(*struct.unpack("<Q", body))
        elif kind == 3:
            answer = 0x82, world.step(struct.unpack("<2H", body))
        elif kind == 4:
            answer = 0x84, world.picture()
        elif kind == 5:
            answer = 0x85, world.values()
        elif kind == 6:
            answer = 0x86, f"The sum is {world.sum}.".encode()
        else:
            answer = 0x8F, json.dumps({"kind": "refused", "text": f"no request {kind}"}).encode()
        sys.stdout.buffer.write(struct.pack("<IB", len(answer[1]), answer[0]) + answer[1])
        sys.stdout.buffer.flush()


main()
