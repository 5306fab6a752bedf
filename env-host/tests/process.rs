//! Worlds in separate processes: their answers, their failures, and that nothing is left of them.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use env_core::draw::Shape;
use env_core::rng::Rng;
use env_host::{
    HostCommand, HostFault, HostLimits, HostPool, HostedWorld as _, Picture, ProcessHost,
    find_interpreter, write_python_host,
};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/worlds")
}

fn interpreter() -> PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    let find = || find_interpreter(None).unwrap();
    FOUND.get_or_init(find).clone()
}

fn command(folder: &Path) -> HostCommand {
    let files = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let files = write_python_host(files).unwrap();
    HostCommand::python(&interpreter(), &files, folder)
}

fn open_with(world: Value, limits: HostLimits) -> Result<ProcessHost, HostFault> {
    ProcessHost::open(&command(&folder()), &world, limits)
}

fn fault(name: &str) -> ProcessHost {
    let world = json!({ "python": format!("faults.py:{name}"), "infos": ["steps"] });
    open_with(world, HostLimits::default()).unwrap()
}

fn gems() -> ProcessHost {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../coplay/templates/environment");
    let world = json!({ "python": "game.py" });
    ProcessHost::open(&command(&folder), &world, HostLimits::default()).unwrap()
}

fn refused(world: Value) -> String {
    match open_with(world, HostLimits::default()) {
        Err(HostFault::Refused(text)) => text,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn equal_seeds_and_actions_give_equal_steps_in_two_processes() {
    let (mut one, mut two) = (gems(), gems());
    assert_eq!(one.facts(), two.facts());
    let spec = one.spec().clone();
    assert_eq!((spec.seats, spec.tick_hz, spec.horizon), (2, 6, 360));
    assert_eq!(spec.actions[spec.noop as usize].name, "stay");
    assert_eq!(one.reset(11).unwrap(), two.reset(11).unwrap());
    let (mut score, mut rng) = (0, Rng::new(3));
    for tick in 0..360_u16 {
        let actions = [0; 2].map(|_: u16| rng.below(5) as u16);
        let step = one.step(&actions).unwrap();
        assert_eq!(step, two.step(&actions).unwrap());
        assert_eq!(step.outcome.over, tick == 359);
        score = step.score;
        assert_eq!(step.seat_scores[0] + step.seat_scores[1], score);
    }
    assert!(score > 0);
    let (mut values, mut picture) = (Vec::new(), Picture::None);
    one.observe(1, &mut values).unwrap();
    assert_eq!(values.len(), spec.observation_len());
    one.picture(0, &mut picture).unwrap();
    let Picture::List(list) = picture else {
        panic!("the game draws shapes")
    };
    assert_eq!((list.width, list.height), (9.0, 6.0));
    assert_eq!(list.items.iter().filter(|item| item.id > 0).count(), 2);
    assert_ne!(
        one.reset(12).unwrap().observed,
        two.reset(13).unwrap().observed
    );
}

#[test]
fn events_infos_and_ends_arrive() {
    let mut host = fault("Fault");
    host.reset(1).unwrap();
    for steps in 1..=9_u32 {
        let step = host.step(&[0]).unwrap();
        assert_eq!(step.outcome.rewards[0], 0.5);
        assert_eq!(step.outcome.events[0].value, steps as f32);
        assert_eq!(step.infos[0].value, json!(steps));
        assert_eq!(step.outcome.over, steps == 9);
        assert_eq!(step.outcome.terminated, u16::from(steps == 9));
    }
}

#[test]
fn a_traceback_starts_in_the_environment() {
    let mut host = fault("Throw");
    host.reset(1).unwrap();
    host.step(&[0]).unwrap();
    let Err(HostFault::Threw { traceback }) = host.step(&[1]) else {
        panic!("it raises an exception")
    };
    assert!(
        traceback.contains("faults.py\", line 22, in step"),
        "{traceback}"
    );
    assert!(
        traceback.contains("KeyError: 'the pot is gone'"),
        "{traceback}"
    );
    assert!(!traceback.contains("worlds.py"), "{traceback}");
    assert_eq!(host.reset(2).unwrap_err(), HostFault::Threw { traceback });
}

#[test]
fn a_world_that_hangs_is_ended_at_its_limit() {
    let limits = HostLimits {
        step_ms: 300,
        ..HostLimits::default()
    };
    let mut host = open_with(json!({ "python": "faults.py:Hang" }), limits).unwrap();
    host.reset(1).unwrap();
    let fault = host.step(&[1]).unwrap_err();
    assert!(
        matches!(
            fault,
            HostFault::TooSlow {
                request: "step",
                limit_ms: 300,
                ..
            }
        ),
        "{fault}"
    );
    assert!(
        fault.to_string().contains("a print of the environment"),
        "{fault}"
    );
}

#[test]
fn the_end_of_a_process_is_told_with_its_last_words() {
    let mut host = fault("Exit");
    host.reset(1).unwrap();
    let Err(HostFault::Gone { status, stderr }) = host.step(&[1]) else {
        panic!("it ends")
    };
    assert!(status.contains('7'), "{status}");
    assert!(stderr.ends_with("I leave\n"), "{stderr}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_world_that_leaks_stops_at_its_limit_of_memory() {
    let limits = HostLimits {
        memory_bytes: 512 << 20,
        ..HostLimits::default()
    };
    let mut host = open_with(json!({ "python": "faults.py:Leak" }), limits).unwrap();
    host.reset(1).unwrap();
    let fault = host.step(&[1]).unwrap_err();
    assert!(matches!(fault, HostFault::Memory { .. }), "{fault}");
    assert!(fault.to_string().contains("512 MiB"), "{fault}");
}

#[test]
fn every_shape_is_drawn_and_a_wrong_one_is_named() {
    let mut host = fault("Pictures");
    assert_eq!(host.facts().sprites[0].name, "cup");
    host.reset(1).unwrap();
    let mut picture = Picture::None;
    host.picture(0, &mut picture).unwrap();
    let Picture::List(list) = picture else {
        panic!("the world draws shapes")
    };
    let color = 0x1122_33FF;
    let rect = Shape::Rect {
        radius: 0.25,
        color,
    };
    assert_eq!((list.items[0].id, &list.items[0].shape), (7, &rect));
    let circle = &list.items[1];
    assert_eq!(
        [circle.x, circle.y, circle.w, circle.h],
        [2.0, 2.0, 2.0, 2.0]
    );
    assert_eq!(circle.shape, Shape::Ellipse { color: 0x0102_03FF });
    assert_eq!(list.items[5].shape, Shape::Sprite(0));
    host.step(&[1]).unwrap();
    let fault = host.picture(0, &mut Picture::None).unwrap_err().to_string();
    assert!(
        fault.contains("there is no sprite 'hat' in `sprites`, which has cup"),
        "{fault}"
    );
}

#[test]
fn a_function_of_the_researcher_chooses_for_a_seat() {
    let world = json!({ "python": "faults.py:Fault", "policy": "faults.py:choose" });
    let mut host = open_with(world, HostLimits::default()).unwrap();
    host.reset(1).unwrap();
    for expected in [0, 0, 1, 0] {
        assert_eq!(host.choose(0).unwrap(), expected);
        host.step(&[0]).unwrap();
    }
    assert!(fault("Fault").choose(0).is_err());
}

#[test]
fn what_cannot_be_loaded_is_explained() {
    let text = refused(json!({ "python": "nothing.py" }));
    assert!(
        text.contains("there is no file") && text.contains("nothing.py"),
        "{text}"
    );
    let text = refused(json!({ "python": "faults.py:Nothing" }));
    assert!(
        text.contains("faults.py has no `Nothing`; it has") && text.contains("Hang"),
        "{text}"
    );
    let text = refused(json!({ "python": "faults.py:Fault", "seats": 3 }));
    assert!(
        text.contains("1 seats (one), and the study says `seats: 3`"),
        "{text}"
    );
    let text = refused(json!({ "python": "faults.py:Fault", "speed": 3 }));
    assert!(text.contains("no key `speed`"), "{text}");
    let text = refused(json!({ "python": "faults.py:Fault", "render": "draw" }));
    assert!(text.contains("a method `draw(self, seat)`"), "{text}");
    let text = refused(json!({ "python": "faults.py:Fault", "noop": "sit" }));
    assert!(
        text.contains("there is no action `sit`; there are stay, act"),
        "{text}"
    );
    let nowhere = HostCommand::python(Path::new("/nowhere/python"), Path::new(""), &folder());
    let fault = ProcessHost::open(&nowhere, &json!({}), HostLimits::default()).err();
    assert!(
        fault
            .unwrap()
            .to_string()
            .contains("cannot start /nowhere/python")
    );
}

#[test]
fn a_process_that_speaks_something_else_is_ended() {
    let says = |text: &str| {
        let command = HostCommand {
            program: interpreter(),
            arguments: ["-c", text].map(Into::into).into(),
            folder: folder(),
            variables: Vec::new(),
        };
        let limits = HostLimits {
            answer_bytes: 1 << 16,
            ..HostLimits::default()
        };
        match ProcessHost::open(&command, &json!({}), limits) {
            Err(HostFault::Protocol(text)) => text,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was opened"),
        }
    };
    let text = says("print('Hello, I am no host', flush=True); input()");
    assert!(text.contains("longer than the limit"), "{text}");
    let text = says(r"import os; os.write(1, b'\x02\0\0\0\x81{}'); input()");
    assert!(
        text.contains("the facts of the world: missing field"),
        "{text}"
    );
    let text = says(r"import os; os.write(1, b'\0\0\0\0\x42'); input()");
    assert!(text.contains("no answer of kind 0x42"), "{text}");
}

/// Waits until a process is gone, or only its entry waits to be read by its parent.
#[cfg(target_os = "linux")]
fn wait_for_end(process: &str) {
    let ended = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        stat.map_or(true, |stat| {
            stat.rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('Z'))
        })
    };
    while !ended() {
        std::thread::yield_now();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_is_left_of_a_host_and_its_children() {
    let mut host = fault("Child");
    host.reset(1).unwrap();
    let mut child = String::new();
    host.describe(0, &mut child).unwrap();
    let process = host.process_id().to_string();
    drop(host);
    wait_for_end(&process);
    wait_for_end(&child);
}

#[test]
#[cfg(target_os = "linux")]
fn a_host_that_hangs_ends_when_its_pipe_closes() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let start = command(&folder());
    let mut child = Command::new(&start.program)
        .args(&start.arguments)
        .envs(start.variables.iter().cloned())
        .current_dir(&start.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut bytes = Vec::new();
    let world = json!({ "python": "faults.py:Hang" });
    use env_host::wire::Request;
    let (world, memory_bytes) = (&world, 0);
    for request in [
        Request::Hello {
            world,
            memory_bytes,
        },
        Request::Reset { seed: 1 },
        Request::Step(&[1]),
    ] {
        request.encode(&mut bytes);
        to.write_all(&bytes).unwrap();
    }
    drop(to);
    assert!(!child.wait().unwrap().success());
}

#[test]
fn a_pool_gives_processes_that_are_ready_and_none_that_failed() {
    let open = || {
        open_with(
            json!({ "python": "faults.py:Throw" }),
            HostLimits::default(),
        )
    };
    let pool = HostPool::new(Arc::new(open), 1);
    while pool.count_ready() == 0 {
        std::thread::yield_now();
    }
    let mut sound = pool.take().unwrap();
    sound.reset(1).unwrap();
    let mut broken = pool.take().unwrap();
    broken.reset(1).unwrap();
    assert!(broken.step(&[1]).is_err());
    let number = broken.process_id();
    pool.give_back(broken);
    assert_ne!(pool.take().unwrap().process_id(), number);
    sound.step(&[0]).unwrap();
}
