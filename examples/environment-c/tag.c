// Tag: one player is it and runs after the other; who is caught is it next.
//
// A complete environment for Coplay in plain C, written from docs/environment-abi.md alone.
// Build: clang --target=wasm32 -O2 -nostdlib -fno-builtin -Wl,--no-entry -o tag.wasm tag.c
// Check: coplay env check tag.wasm

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#define EXPORT(name) __attribute__((export_name(#name))) name

enum { SEATS = 2, WIDTH = 8, HEIGHT = 6, SLOTS = 64, INBOX = 1 << 20, OUTBOX = 4096 };
enum { UP, DOWN, LEFT, RIGHT, STAY, ACTIONS };
enum { CAUGHT };

// ---- The state: plain data without gaps, so that its memory is its canonical bytes.

typedef struct {
  u64 random;
  u32 step;
  u32 catches[SEATS];
  u16 x[SEATS], y[SEATS];
  u32 it;
} State;
_Static_assert(sizeof(State) == 32, "a gap between the fields would be a byte without a meaning");

static State state, slots[SLOTS];
static u8 slot_is_full[SLOTS];
static u32 horizon = 300;

// ---- Messages: an inbox for those of the caller, an outbox for ours.

static u8 inbox[INBOX], outbox[OUTBOX];
static u32 received, written;

u32 EXPORT(coplay_abi)(void) { return 1; }

u8 *EXPORT(coplay_inbox)(u32 length) {
  if (length > INBOX) return 0;
  received = length;
  return inbox;
}

u8 *EXPORT(coplay_outbox)(void) { return outbox; }

static void put(u8 byte) {
  if (written < OUTBOX) outbox[written++] = byte;
}

static void put_bytes(const void *bytes, u32 length) {
  for (u32 k = 0; k < length; k++) put(((const u8 *)bytes)[k]);
}

static void put_text(const char *text) {
  while (*text) put(*text++);
}

static void put_number(u32 number) {
  if (number >= 10) put_number(number / 10);
  put('0' + number % 10);
}

static void put_f32(float value) { put_bytes(&value, 4); }
static void put_u16(u16 value) { put_bytes(&value, 2); }
static void put_u32(u32 value) { put_bytes(&value, 4); }

static void put_varint(u32 value) {
  for (; value >= 0x80; value >>= 7) put((u8)value | 0x80);
  put((u8)value);
}

// ---- The rules.

// SplitMix64, of Steele, Lea and Flood (2014); its word is a part of the state.
static u32 draw_below(State *s, u32 bound) {
  u64 z = s->random += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return (u32)(((z ^ (z >> 31)) >> 32) * bound >> 32);
}

static int together(const State *s) { return s->x[0] == s->x[1] && s->y[0] == s->y[1]; }

static void place(State *s) {
  do {
    for (u32 seat = 0; seat < SEATS; seat++) {
      s->x[seat] = (u16)draw_below(s, WIDTH);
      s->y[seat] = (u16)draw_below(s, HEIGHT);
    }
  } while (together(s));
}

static State first_state(u64 seed) {
  State s = {.random = seed};
  s.it = draw_below(&s, SEATS);
  place(&s);
  return s;
}

static int has_way(const State *s, u32 seat, u32 action) {
  switch (action) {
    case UP: return s->y[seat] > 0;
    case DOWN: return s->y[seat] < HEIGHT - 1;
    case LEFT: return s->x[seat] > 0;
    case RIGHT: return s->x[seat] < WIDTH - 1;
    default: return 0;
  }
}

static void move(State *s, u32 seat, u32 action) {
  if (!has_way(s, seat, action)) return;
  if (action == UP) s->y[seat]--;
  if (action == DOWN) s->y[seat]++;
  if (action == LEFT) s->x[seat]--;
  if (action == RIGHT) s->x[seat]++;
}

// The action of a seat in the inbox; what is missing or out of range is the no-op.
static u32 action_of(u32 seat, u32 seats) {
  u32 at = 2 * seat;
  if (seat >= seats || at + 2 > received) return STAY;
  u32 action = inbox[at] | (u32)inbox[at + 1] << 8;
  return action < ACTIONS ? action : STAY;
}

u32 EXPORT(coplay_step)(u32 seats) {
  float rewards[16] = {0};
  u32 catcher = SEATS;
  if (seats > 16) seats = 16;
  int was_over = state.step >= horizon;
  if (!was_over) {
    state.step++;
    for (u32 seat = 0; seat < SEATS; seat++) {
      move(&state, seat, action_of(seat, seats));
      if (catcher == SEATS && together(&state)) {
        catcher = state.it;
        state.catches[catcher]++;
        rewards[catcher] = 1;
        rewards[1 - catcher] = -1;
      }
      if (catcher != SEATS) break;
    }
    if (catcher != SEATS) {
      state.it = 1 - catcher;
      place(&state);
    }
  }
  int over = state.step >= horizon;

  written = 0;
  for (u32 seat = 0; seat < seats; seat++) put_f32(rewards[seat]);
  put_u16(0);
  put_u16(over && !was_over ? (1 << SEATS) - 1 : 0);
  put_u32((u32)over);
  put_u32(catcher != SEATS);
  if (catcher != SEATS) {
    put_u16(CAUGHT);
    put((u8)catcher);
    put(0);
    put_f32(1);
  }
  return (u32)over;
}

// ---- Parameters and facts.

static i32 refuse(const char *reason) {
  written = 0;
  put_text(reason);
  return -(i32)written;
}

static u32 at;

static u8 next(void) {
  while (at < received && (inbox[at] == ' ' || inbox[at] == '\n' || inbox[at] == '\r' || inbox[at] == '\t')) at++;
  return at < received ? inbox[at] : 0;
}

static int take(const char *word) {
  next();
  u32 end = at;
  for (; *word; word++, end++)
    if (end >= received || inbox[end] != (u8)*word) return 0;
  at = end;
  return 1;
}

// Reads {} or {"horizon": 1 to 100000}.
i32 EXPORT(coplay_open)(u32 length) {
  u32 wanted = 300;
  if (length < received) received = length;
  at = 0;
  if (length > 0) {
    if (!take("{")) return refuse("params: must be an object, such as {}");
    if (next() != '}') {
      if (!take("\"horizon\"") || !take(":")) return refuse("params: there is one parameter, `horizon`");
      u32 digits = 0;
      for (wanted = 0; next() >= '0' && inbox[at] <= '9' && digits < 7; digits++) wanted = 10 * wanted + (inbox[at++] - '0');
      if (digits == 0 || wanted < 1 || wanted > 100000) return refuse("horizon: must be a whole number from 1 to 100000");
    }
    if (!take("}") || next() != 0) return refuse("params: must end after `horizon`, with }");
  }
  horizon = wanted;
  state = first_state(0);
  for (u32 slot = 0; slot < SLOTS; slot++) slot_is_full[slot] = 0;
  return 0;
}

static void put_action(const char *name, const char *keys) {
  put_text("{\"name\":\"");
  put_text(name);
  put_text("\",\"momentary\":true,\"keys\":[");
  put_text(keys);
  put_text("]}");
}

u32 EXPORT(coplay_facts)(void) {
  written = 0;
  put_text("{\"spec\":{\"id\":\"tag\",\"version\":\"0.1.0\",\"title\":\"Tag\",\"seats\":2,\"actions\":[");
  put_action("up", "\"ArrowUp\",\"KeyW\"");
  put(',');
  put_action("down", "\"ArrowDown\",\"KeyS\"");
  put(',');
  put_action("left", "\"ArrowLeft\",\"KeyA\"");
  put(',');
  put_action("right", "\"ArrowRight\",\"KeyD\"");
  put(',');
  put_action("stay", "");
  put_text("],\"noop\":4,\"observation\":[");
  put_text("{\"name\":\"own_place\",\"shape\":[2]},{\"name\":\"other_place\",\"shape\":[2]},{\"name\":\"am_it\",\"shape\":[1]}");
  put_text("],\"tick_hz\":10,\"horizon\":");
  put_number(horizon);
  put_text(",\"events\":[\"caught\"],\"compact\":true},\"params_schema\":{\"type\":\"object\",\"additionalProperties\":false,");
  put_text("\"properties\":{\"horizon\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000,\"default\":300,");
  put_text("\"description\":\"Steps after which the episode ends.\"}}},\"sprites\":[]}");
  return written;
}

// ---- Ways of looking.

u32 EXPORT(coplay_observe)(u32 seat) {
  written = 0;
  if (seat >= SEATS) return 0;
  u32 other = 1 - seat;
  put_f32(state.x[seat]);
  put_f32(state.y[seat]);
  put_f32(state.x[other]);
  put_f32(state.y[other]);
  put_f32(state.it == seat);
  return written;
}

u64 EXPORT(coplay_mask)(u32 seat) {
  if (seat >= SEATS) return 0;
  u64 mask = 1 << STAY;
  for (u32 action = 0; action < ACTIONS; action++)
    if (has_way(&state, seat, action)) mask |= 1ull << action;
  return mask;
}

static void put_place(u32 seat) {
  put_text("column ");
  put_number(state.x[seat] + 1u);
  put_text(", row ");
  put_number(state.y[seat] + 1u);
}

u32 EXPORT(coplay_describe)(u32 seat) {
  written = 0;
  if (seat >= SEATS) return 0;
  put_text(state.it == seat ? "You are it: catch the other player. " : "The other player is it: keep away. ");
  put_text("You are at ");
  put_place(seat);
  put_text("; the other player is at ");
  put_place(1 - seat);
  put_text(". Steps left: ");
  put_number(horizon - state.step);
  put('.');
  return written;
}

static void put_item(u32 id, float x, float y, float size, u32 tag) {
  put_varint(id);
  put_f32(x);
  put_f32(y);
  put_f32(size);
  put_f32(size);
  put_varint(tag);
}

u32 EXPORT(coplay_draw)(void) {
  static const u32 colors[SEATS] = {0x0072b2ff, 0xe69f00ff};
  written = 0;
  put_f32(WIDTH);
  put_f32(HEIGHT);
  put_varint(0xf4f1e8ff);
  put_varint(SEATS + 1);
  for (u32 seat = 0; seat < SEATS; seat++) {
    put_item(seat + 1, state.x[seat] + 0.1f, state.y[seat] + 0.1f, 0.8f, 2);  // An ellipse.
    put_varint(colors[seat]);
  }
  put_item(SEATS + 1, state.x[state.it] + 0.25f, state.y[state.it] + 0.25f, 0.5f, 4);  // A text.
  put_varint(2);
  put_text("it");
  put_varint(0x000000ff);
  return written;
}

i64 EXPORT(coplay_score)(void) { return (i64)state.catches[0] + state.catches[1]; }

// ---- The state, kept and moved.

void EXPORT(coplay_reset)(u64 seed) { state = first_state(seed); }

void EXPORT(coplay_save)(u32 slot) {
  if (slot >= SLOTS) return;
  slots[slot] = state;
  slot_is_full[slot] = 1;
}

void EXPORT(coplay_load)(u32 slot) {
  if (slot < SLOTS && slot_is_full[slot]) state = slots[slot];
}

u64 EXPORT(coplay_digest)(void) {
  u64 hash = 0xcbf29ce484222325;
  for (u32 k = 0; k < sizeof state; k++) hash = (hash ^ ((const u8 *)&state)[k]) * 0x100000001b3;
  return hash;
}

u32 EXPORT(coplay_state)(void) {
  written = 0;
  put_bytes(&state, sizeof state);
  return written;
}

static int valid(const State *s) {
  if (s->step > horizon || s->it >= SEATS || together(s)) return 0;
  for (u32 seat = 0; seat < SEATS; seat++)
    if (s->x[seat] >= WIDTH || s->y[seat] >= HEIGHT || s->catches[seat] > s->step) return 0;
  return 1;
}

i32 EXPORT(coplay_restore)(u32 length) {
  State read;
  if (length != sizeof read || received < length) return -1;
  for (u32 k = 0; k < sizeof read; k++) ((u8 *)&read)[k] = inbox[k];
  if (!valid(&read)) return -1;
  state = read;
  return 0;
}

void EXPORT(coplay_inject)(u32 words) { (void)words; }
