;; A small environment by hand: one seat, counts how often it is told to, and ends after 20 steps.
;; Every function stands between blank lines, so that a test can put another in its place.
;;
;; Memory: 16 the state (steps, sum), 256 the slots, 8 bytes each, 800 which slots are full, 1024 messages,
;; 3072 words, 3584 the picture, 4096 the facts, 65536 the inbox.
(module
  (memory (export "memory") 20)
  (global $outbox (mut i32) (i32.const 1024))
  (global $received (mut i32) (i32.const 0))
  (data (i32.const 3072) "A counter.")
  (data (i32.const 3584) "\00\00\80\3f\00\00\80\3f\00\00")
  (data (i32.const 4096) "FACTS")

  (func (export "coplay_abi") (result i32) (i32.const 1))

  (func (export "coplay_inbox") (param $len i32) (result i32)
    (if (i32.gt_u (local.get $len) (i32.const 1048576)) (then (return (i32.const 0))))
    (global.set $received (local.get $len))
    (i32.const 65536))

  (func (export "coplay_outbox") (result i32) (global.get $outbox))

  (func (export "coplay_open") (param $len i32) (result i32)
    (i64.store (i32.const 16) (i64.const 0))
    (memory.fill (i32.const 800) (i32.const 0) (i32.const 64))
    (i32.const 0))

  (func (export "coplay_facts") (result i32)
    (global.set $outbox (i32.const 4096))
    (i32.const LENGTH))

  (func (export "coplay_reset") (param $seed i64)
    (i64.store (i32.const 16) (i64.const 0)))

  (func (export "coplay_step") (param $seats i32) (result i32)
    (local $action i32) (local $over i32)
    (if (i32.and (i32.ge_u (global.get $received) (i32.const 2)) (i32.ge_u (local.get $seats) (i32.const 1)))
      (then (local.set $action (i32.load16_u (i32.const 65536)))))
    (memory.fill (i32.const 1024) (i32.const 0) (i32.const 128))
    (local.set $over (i32.ge_u (i32.load (i32.const 16)) (i32.const 20)))
    (if (i32.eqz (local.get $over)) (then
      (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (i32.const 1)))
      (if (i32.eq (local.get $action) (i32.const 1)) (then
        (i32.store (i32.const 20) (i32.add (i32.load (i32.const 20)) (i32.const 1)))
        (f32.store (i32.const 1024) (f32.const 1))))
      (local.set $over (i32.ge_u (i32.load (i32.const 16)) (i32.const 20)))
      (i32.store16 (i32.const 1030) (local.get $over))))
    (i32.store (i32.const 1032) (local.get $over))
    (global.set $outbox (i32.const 1024))
    (local.get $over))

  (func (export "coplay_observe") (param $seat i32) (result i32)
    (if (local.get $seat) (then (return (i32.const 0))))
    (f32.store (i32.const 1024) (f32.convert_i32_u (i32.load (i32.const 20))))
    (global.set $outbox (i32.const 1024))
    (i32.const 4))

  (func (export "coplay_describe") (param $seat i32) (result i32)
    (global.set $outbox (i32.const 3072))
    (select (i32.const 0) (i32.const 10) (local.get $seat)))

  (func (export "coplay_draw") (result i32)
    (global.set $outbox (i32.const 3584))
    (i32.const 10))

  (func (export "coplay_save") (param $slot i32)
    (if (i32.ge_u (local.get $slot) (i32.const 64)) (then (return)))
    (i32.store8 offset=800 (local.get $slot) (i32.const 1))
    (i64.store offset=256 (i32.shl (local.get $slot) (i32.const 3)) (i64.load (i32.const 16))))

  (func (export "coplay_load") (param $slot i32)
    (if (i32.ge_u (local.get $slot) (i32.const 64)) (then (return)))
    (if (i32.load8_u offset=800 (local.get $slot)) (then
      (i64.store (i32.const 16) (i64.load offset=256 (i32.shl (local.get $slot) (i32.const 3)))))))

  (func (export "coplay_digest") (result i64)
    (local $at i32) (local $hash i64)
    (local.set $hash (i64.const 0xcbf29ce484222325))
    (loop $next
      (local.set $hash (i64.mul (i64.const 0x100000001b3)
        (i64.xor (local.get $hash) (i64.load8_u offset=16 (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 8))))
    (local.get $hash))

  (func (export "coplay_score") (result i64) (i64.load32_u (i32.const 20)))

  (func (export "coplay_state") (result i32)
    (global.set $outbox (i32.const 16))
    (i32.const 8))

  (func (export "coplay_restore") (param $len i32) (result i32)
    (if (i32.ne (local.get $len) (i32.const 8)) (then (return (i32.const -1))))
    (if (i32.gt_u (i32.load (i32.const 65536)) (i32.const 20)) (then (return (i32.const -1))))
    (if (i32.gt_u (i32.load (i32.const 65540)) (i32.load (i32.const 65536))) (then (return (i32.const -1))))
    (i64.store (i32.const 16) (i64.load (i32.const 65536)))
    (i32.const 0))

  (func (export "coplay_inject") (param $words i32))

)
