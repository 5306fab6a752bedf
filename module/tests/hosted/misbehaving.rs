//! A module that misbehaves is stopped with a sentence, and nothing else is harmed.

use env_core::World;
use env_core::conformance;
use env_core::contract::StateError;
use env_core::draw::DrawList;
use module::{Module, ModuleError, ModuleLimits};

use crate::counter::{FACTS, broken, counter, sound};

/// The words of a module's refusal.
fn refused(result: Result<Module, ModuleError>) -> String {
    result.expect_err("the module is refused").to_string()
}

/// Returns the fault after some use of a module; another module continues beside it.
fn fault(functions: &[(&str, &str)], mut use_it: impl FnMut(&mut Module)) -> String {
    let mut healthy = sound().open("").unwrap();
    let mut world = broken(functions).unwrap();
    assert_eq!(
        world.fault().map(ToString::to_string),
        None,
        "before it is used"
    );
    healthy.step(&[1]);
    use_it(&mut world);
    let fault = World::fault(&world).expect("the module was stopped");
    stands_still(&mut world);
    assert_eq!(
        World::fault(&world),
        Some(fault.clone()),
        "the first fault stays"
    );
    healthy.step(&[1]);
    assert_eq!((healthy.score(), World::fault(&healthy)), (2, None));
    fault
}

/// Checks that a failed world answers everything, and that nothing continues.
fn stands_still(world: &mut Module) {
    let (mut values, mut text, mut picture) = (vec![9.0; 7], String::new(), DrawList::default());
    world.reset(1);
    world.load(0);
    world.save(0);
    world.inject(&[1]);
    let outcome = world.step(&[1]);
    assert!(outcome.over && outcome.rewards == [0.0; 16] && outcome.events.is_empty());
    world.observe(0, &mut values);
    assert_eq!(values, [0.0]);
    world.describe(0, &mut text);
    assert_eq!(Some(text), World::fault(world));
    world.draw(Some(0), &mut picture);
    assert_eq!(
        (world.score(), world.digest(), world.mask(0)),
        (0, 0, u64::MAX)
    );
    assert_eq!(world.restore(&[0; 8]), Err(StateError));
}

fn step(world: &mut Module) {
    world.step(&[1]);
}

fn observe(world: &mut Module) {
    world.observe(0, &mut Vec::new());
}

fn says(sentence: &str, parts: &[&str]) {
    for part in parts {
        assert!(sentence.contains(part), "{part:?} is not in: {sentence}");
    }
}

#[test]
fn bytes_that_are_no_module_are_refused() {
    let load = |bytes: &[u8]| refused(module::load(bytes, "", ModuleLimits::default()));
    assert_eq!(
        load(b"not wasm"),
        "this is no WebAssembly module: it is no WebAssembly file, which begins with the bytes `\\0asm`"
    );
    says(
        &load(&counter(FACTS, &[])[..200]),
        &["no WebAssembly module"],
    );
    let small = ModuleLimits {
        module_bytes: 100,
        ..ModuleLimits::default()
    };
    says(
        &refused(module::load(&counter(FACTS, &[]), "", small)),
        &["bytes; at most 100 are taken"],
    );
}

#[test]
fn an_import_is_refused_by_name() {
    let text = r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)) (memory (export "memory") 1))"#;
    let sentence = refused(module::load(
        &wat::parse_str(text).unwrap(),
        "",
        ModuleLimits::default(),
    ));
    says(
        &sentence,
        &[
            "`wasi_snapshot_preview1.fd_write`",
            "imports nothing",
            "wasm32-unknown-unknown",
        ],
    );
}

#[test]
fn a_missing_or_mistyped_export_is_named() {
    let text =
        include_str!("counter.wat").replace("(memory (export \"memory\") 20)", "(memory 20)");
    let bytes = wat::parse_str(text.replace("LENGTH", "5")).unwrap();
    says(
        &refused(module::load(&bytes, "", ModuleLimits::default())),
        &["does not export its `memory`"],
    );
    says(
        &refused(broken(&[("coplay_score", "")])),
        &["does not export `coplay_score`"],
    );
    says(
        &refused(broken(&[("coplay_score", "(result i32) (i32.const 1)")])),
        &[
            "`coplay_score` has another type",
            "wants nothing and gives an i64",
        ],
    );
}

#[test]
fn another_version_of_the_interface_is_refused() {
    says(
        &refused(broken(&[("coplay_abi", "(result i32) (i32.const 3)")])),
        &["speaks version 3", "versions 1 to 2 are spoken here"],
    );
}

#[test]
fn refused_parameters_are_told_in_the_words_of_the_module() {
    let open = "(param i32) (result i32) (global.set $outbox (i32.const 3072)) (i32.const -10)";
    assert_eq!(
        broken(&[("coplay_open", open)]).err(),
        Some(ModuleError::Params("A counter.".into()))
    );
    let bytes = counter(FACTS, &[]);
    let long = " ".repeat(2 << 20);
    says(
        &refused(module::load(&bytes, &long, ModuleLimits::default())),
        &["over 1 MiB"],
    );
    let open = |code: &str| {
        refused(broken(&[(
            "coplay_open",
            &format!("(param i32) (result i32) (i32.const {code})"),
        )]))
    };
    says(&open("3"), &["`coplay_open` answered 3"]);
    says(&open("0x80000000"), &["2147483648 bytes; at most 1048576"]);
}

#[test]
fn a_trap_is_told_by_its_kind() {
    for (body, words) in [
        (
            "unreachable",
            "gave up: it reached `unreachable`, as a Rust panic or an abort in C does; \
             `cargo test` of a Rust module tells what the panic said",
        ),
        ("(i32.load (i32.const -1))", "outside of its memory"),
        (
            "(i32.div_u (i32.const 1) (i32.const 0))",
            "divided a whole number by zero",
        ),
    ] {
        let body = format!("(param i32) (result i32) {body}");
        says(
            &fault(&[("coplay_step", &body)], step),
            &["`coplay_step`", words],
        );
    }
}

#[test]
fn a_loop_without_end_is_stopped() {
    let body = "(param i32) (result i32) (loop $l (br $l)) (i32.const 0)";
    says(
        &fault(&[("coplay_step", body)], step),
        &[
            "`coplay_step` did not return within 50,000,000 instructions",
            "was stopped",
        ],
    );
    let small = ModuleLimits {
        open_fuel: 10_000,
        ..ModuleLimits::default()
    };
    let bytes = counter(FACTS, &[("coplay_open", body)]);
    says(
        &refused(module::load(&bytes, "", small)),
        &["`coplay_open` did not return within 10,000 instructions"],
    );
    let start = include_str!("counter.wat").replace("LENGTH", "5");
    let start = start.replace(
        "(func (export \"coplay_abi\")",
        "(func $go (loop $l (br $l))) (start $go)\n(func (export \"coplay_abi\")",
    );
    let bytes = wat::parse_str(start).unwrap();
    says(
        &refused(module::load(&bytes, "", small)),
        &["`start` did not return"],
    );
}

#[test]
fn recursion_without_end_is_stopped() {
    // `coplay_step` is the seventh function.
    let body = "(param i32) (result i32) (call 6 (local.get 0))";
    says(
        &fault(&[("coplay_step", body)], step),
        &["called itself too deep: over 1000 calls"],
    );
}

#[test]
fn growth_without_bound_is_stopped() {
    let body = "(param i32) (result i32) (loop $l (drop (memory.grow (i32.const 16))) (br $l)) (i32.const 0)";
    says(
        &fault(&[("coplay_step", body)], step),
        &["`coplay_step` wanted more than 1024 pages of memory (64 MiB)"],
    );
    let bytes = counter(FACTS, &[]);
    let small = ModuleLimits {
        memory_pages: 19,
        ..ModuleLimits::default()
    };
    says(
        &refused(module::load(&bytes, "", small)),
        &["`start` wanted more than 19 pages"],
    );
}

#[test]
fn lengths_and_places_that_lie_are_refused() {
    let gives = |name: &'static str, len: i64| {
        (name, format!("(param i32) (result i32) (i32.const {len})"))
    };
    for len in [-1, i64::from(i32::MIN), 0x7fff_ffff, 1_048_577] {
        let (name, body) = gives("coplay_observe", len);
        says(
            &fault(&[(name, &body)], observe),
            &["`coplay_observe` gave a message of", "at most 1048576"],
        );
    }
    for (len, words) in [
        (3, "no multiple of 4"),
        (8, "2 values instead of 1"),
        (0, "0 values instead of 1"),
    ] {
        let (name, body) = gives("coplay_observe", len);
        says(
            &fault(&[(name, &body)], observe),
            &["`coplay_observe`", words],
        );
    }
    let outbox = (
        "coplay_outbox",
        "(result i32) (select (i32.const 4096) (i32.const -8) (i32.eq (global.get $outbox) (i32.const 4096)))",
    );
    says(
        &fault(&[outbox], observe),
        &[
            "`coplay_outbox` the place 4294967288",
            "not inside the memory",
        ],
    );
    for place in ["0", "-1", "1310719"] {
        let inbox = format!("(param i32) (result i32) (i32.const {place})");
        says(
            &fault(&[("coplay_inbox", &inbox)], step),
            &["`coplay_inbox` gave the place", "not inside the memory"],
        );
    }
}

#[test]
fn an_outcome_that_lies_is_refused() {
    let step_with = |body: &str| {
        let clear = "(memory.fill (i32.const 1024) (i32.const 0) (i32.const 128)) (global.set $outbox (i32.const 1024))";
        fault(
            &[(
                "coplay_step",
                &format!("(param i32) (result i32) {clear} {body} (i32.const 0)"),
            )],
            step,
        )
    };
    let set = |at: u32, value: &str| format!("(i32.store (i32.const {at}) (i32.const {value}))");
    says(
        &step_with(&set(1024, "0x7fc00000")),
        &["rewards are finite"],
    );
    says(
        &step_with(&set(1028, "2")),
        &["speaks of existing seats only"],
    );
    says(
        &step_with(&set(1032, "1")),
        &["`coplay_step` returned 0, and its outcome says over: true"],
    );
    says(
        &step_with(&set(1036, "1")),
        &["an event has a kind, existing seats and a finite value"],
    );
    says(
        &step_with(&set(1036, "-1")),
        &["gave a message of 4294967295 bytes"],
    );
    says(
        &step_with(&set(1036, "200000")),
        &["gave a message of 1600016 bytes"],
    );
}

#[test]
fn a_spec_with_too_many_steps_a_second_is_refused() {
    let load = |hz: &str| {
        let facts = FACTS.replace("\"tick_hz\":10", &format!("\"tick_hz\":{hz}"));
        module::load(&counter(&facts, &[]), "", ModuleLimits::default())
    };
    for hz in ["0", "60"] {
        assert!(load(hz).is_ok(), "{hz}");
    }
    assert_eq!(
        refused(load("61")),
        "`coplay_facts` broke the law that there are at most 60 steps a second: `tick_hz` is 61"
    );
}

#[test]
fn values_that_are_no_numbers_are_refused() {
    let body = "(param i32) (result i32) (f32.store (i32.const 1024) (f32.const nan)) (global.set $outbox (i32.const 1024)) (i32.const 4)";
    says(
        &fault(&[("coplay_observe", body)], observe),
        &[
            "`coplay_observe` broke the law that every value",
            "value 0 (sum) is NaN",
        ],
    );
}

#[test]
fn texts_and_pictures_that_cannot_be_read_are_refused() {
    let text = "(param i32) (result i32) (i32.store (i32.const 1024) (i32.const -1)) (global.set $outbox (i32.const 1024)) (i32.const 4)";
    says(
        &fault(&[("coplay_describe", text)], |world| {
            world.describe(0, &mut String::new())
        }),
        &["`coplay_describe` gave a text that is not UTF-8"],
    );
    for (len, words) in [
        (9, "a picture that cannot be read"),
        (12, "2 bytes too many"),
    ] {
        let body = format!("(result i32) (global.set $outbox (i32.const 3584)) (i32.const {len})");
        says(
            &fault(&[("coplay_draw", &body)], |world| {
                world.draw(Some(0), &mut DrawList::default())
            }),
            &["`coplay_draw` gave a picture", words],
        );
    }
}

#[test]
fn a_digest_that_lies_is_refused() {
    let lie = |world: &mut Module| assert_eq!(world.digest(), 0);
    says(
        &fault(&[("coplay_digest", "(result i64) (i64.const 5)")], lie),
        &[
            "`coplay_digest` gave 0000000000000005",
            "8 bytes of `coplay_state`",
            "FNV-1a",
        ],
    );
}

#[test]
fn facts_that_are_rubbish_are_refused() {
    let facts = |facts: &str| {
        refused(module::load(
            &counter(facts, &[]),
            "",
            ModuleLimits::default(),
        ))
    };
    says(
        &facts("rubbish"),
        &[
            "`coplay_facts` gave something else than the JSON",
            "line 1 column 1",
        ],
    );
    says(&facts(r#"{"spec":{}}"#), &["missing field `id`"]);
    let deep = format!(r#"{{"params_schema":{}"#, "[".repeat(50_000));
    says(&facts(&deep), &["`coplay_facts`", "recursion"]);
    let huge = format!("(result i32) (i32.const {})", 64 << 20);
    says(
        &refused(broken(&[("coplay_facts", &huge)])),
        &["67108864 bytes; at most 4194304"],
    );
    for (from, to, words) in [
        ("\"seats\":1", "\"seats\":0", "there are 1 to 16 seats: 0"),
        ("\"seats\":1", "\"seats\":17", "there are 1 to 16 seats: 17"),
        ("\"noop\":0", "\"noop\":2", "the no-op is an action"),
        (
            "\"horizon\":20",
            "\"horizon\":0",
            "the horizon is at least 1",
        ),
        (
            "\"shape\":[1]",
            "\"shape\":[4294967295,4294967295,4294967295]",
            "1 to 262,144 values",
        ),
        ("\"shape\":[1]", "\"shape\":[0]", "1 to 262,144 values"),
        // Nothing in the end, and on the way there more than 32 bits count.
        (
            "\"shape\":[1]}",
            "\"shape\":[1]},{\"name\":\"b\",\"shape\":[65536,65536,0]}",
            "1 to 262,144 values",
        ),
        ("\"count\"", "\"wait\"", "actions have different names"),
        ("\"counter\"", "\"\"", "the spec has an id"),
        (
            "\"params_schema\":{}",
            "\"params_schema\":3",
            "`params_schema` that is no JSON object",
        ),
    ] {
        assert!(FACTS.contains(from), "{from}");
        says(&facts(&FACTS.replace(from, to)), &["`coplay_facts`", words]);
    }
    let action = r#"{"name":"NAME","momentary":false,"keys":[]},"#;
    let many: String = (0..65)
        .map(|k| action.replace("NAME", &format!("a{k}")))
        .collect();
    says(
        &facts(&FACTS.replace("\"actions\":[", &format!("\"actions\":[{many}"))),
        &["1 to 64 actions: 67"],
    );
}

#[test]
fn state_that_leaks_from_episode_to_episode_is_found() {
    let leak = "(param i64) (i32.store (i32.const 16) (i32.const 0))";
    let findings = findings(&[("coplay_reset", leak)]);
    says(
        &findings,
        &["the same seed gives the same first state, whatever was played before"],
    );
}

#[test]
fn slots_that_share_memory_are_found() {
    let save = "(param i32) (i32.store8 offset=800 (i32.const 0) (i32.const 1)) (i64.store (i32.const 256) (i64.load (i32.const 16)))";
    let load = "(param i32) (i64.store (i32.const 16) (i64.load (i32.const 256)))";
    let found = findings(&[("coplay_save", save), ("coplay_load", load)]);
    says(&found, &["each of 64 slots keeps its own state: slot 19"]);
}

#[test]
fn a_breakdown_in_the_middle_is_found_once() {
    let trap = "(param i32) (result i32) (if (i32.ge_u (i32.load (i32.const 16)) (i32.const 5)) (then unreachable)) \
        (i64.store (i32.const 1024) (i64.load (i32.const 16))) (global.set $outbox (i32.const 1028)) (i32.const 0)";
    let found = findings(&[("coplay_restore", trap)]);
    says(
        &found,
        &["no call breaks down or breaks the interface: `coplay_restore` gave up"],
    );
}

/// The findings of the laws about the counter with other functions, a line each.
fn findings(functions: &[(&str, &str)]) -> String {
    let code = module::Code::compile(&counter(FACTS, functions), ModuleLimits::default()).unwrap();
    let mut open = || {
        let world = code.open("").map_err(|error| error.to_string())?;
        Ok(Box::new(world) as Box<dyn World>)
    };
    let report = conformance::check_world(&mut open, 0, &conformance::SEEDS, &mut |_| ());
    let lines = report
        .findings
        .iter()
        .map(|finding| format!("{}: {}\n", finding.law, finding.what));
    lines.collect()
}
