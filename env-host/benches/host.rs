//! The time that a host adds to the environment's own step: pipe, protocol, scores and hashes.
//!
//! `COPLAY_PYTHON` names the interpreter; with NumPy in it, pictures of pixels are measured, too.

use std::path::Path;
use std::time::{Duration, Instant};

use env_core::envs;
use env_host::{
    HostCommand, HostLimits, HostedWorld, NativeHost, Picture, ProcessHost, find_interpreter,
    write_python_host,
};
use serde_json::json;

const STEPS: usize = 4_000;

/// The numbers of simultaneous episodes, tried one after the other until they are too many.
const CROWDS: [usize; 10] = [4, 8, 16, 32, 64, 96, 128, 192, 256, 384];

/// Ticks of each of them, and the time between two.
const TICKS: u32 = 100;
const PERIOD: Duration = Duration::from_millis(50);

/// The most ticks that may be done later than when the next one is due, of a hundred.
const MOST_LATE: f64 = 1.0;

fn main() {
    let python = find_interpreter(None).expect("Python is needed");
    let world = envs::open("overcooked", "").expect("it is in this program");
    let mut native = NativeHost::new(world, Vec::new());
    let (step, _) = measure(&mut native);
    print(
        "step of Overcooked on the native host, two seats",
        micros(step),
        "µs",
    );
    let (mut shapes, started) = open(&python, "Timed");
    print(
        "start of a host with a cheap world",
        started.as_secs_f64() * 1e3,
        "ms",
    );
    report(&mut shapes, "16 numbers", "20 shapes");
    measure_crowds(&python);
    let numpy = std::process::Command::new(&python)
        .args(["-c", "import numpy"])
        .output();
    if numpy.is_ok_and(|ran| ran.status.success()) {
        let (mut pixels, _) = open(&python, "Pixels");
        report(&mut pixels, "210 × 160 pixels", "210 × 160 pixels");
    }
}

fn open(python: &Path, name: &str) -> (ProcessHost, Duration) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let files = write_python_host(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("it is writable");
    let command = HostCommand::python(python, &files, &folder);
    let world = json!({ "python": format!("timed.py:{name}") });
    let began = Instant::now();
    let host = ProcessHost::open(&command, &world, HostLimits::default()).expect("it is sound");
    (host, began.elapsed())
}

/// Prints how many episodes keep time, each with its own process, which steps and draws for its two seats.
fn measure_crowds(python: &Path) {
    let mut most = 0;
    let mut hosts: Vec<ProcessHost> = Vec::new();
    for crowd in CROWDS {
        while hosts.len() < crowd {
            hosts.push(open(python, "Timed").0);
        }
        let begin = Instant::now() + Duration::from_millis(200);
        let late: u32 = std::thread::scope(|scope| {
            let play = |host| scope.spawn(move || count_late_ticks(host, begin));
            let playing: Vec<_> = hosts.iter_mut().map(play).collect();
            let late = playing.into_iter().map(|it| it.join().expect("it plays"));
            late.sum()
        });
        let share = 100.0 * f64::from(late) / (f64::from(TICKS) * crowd as f64);
        eprintln!("    {crowd} episodes: {share:.2} % of the ticks are late");
        if share > MOST_LATE {
            break;
        }
        most = crowd;
    }
    assert!(most > 0, "a few episodes keep time");
    print(
        "episodes of a cheap world in Python at 20 ticks a second, before 1 % of ticks are late",
        most as f64,
        "episodes",
    );
}

/// Plays one episode by the clock; returns the number of ticks that were not done when the next one was due.
fn count_late_ticks(host: &mut ProcessHost, begin: Instant) -> u32 {
    host.reset(1).expect("it is sound");
    let mut picture = Picture::None;
    let mut late = 0;
    for tick in 0..TICKS {
        let due = begin + PERIOD * tick;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        host.step(&[(tick % 2) as u16, 0]).expect("it is sound");
        for seat in 0..2 {
            host.picture(seat, &mut picture).expect("it is sound");
        }
        late += u32::from(Instant::now() > due + PERIOD);
    }
    late
}

fn report(host: &mut ProcessHost, observed: &str, drawn: &str) {
    let own = |host: &mut ProcessHost| {
        let mut text = String::new();
        host.describe(0, &mut text).expect("it tells its time");
        Duration::from_nanos(text.parse().expect("it is a number"))
    };
    let before = own(host);
    let (step, picture) = measure(host);
    let own = (own(host) - before) / STEPS as u32;
    let added = micros(step) - micros(own);
    assert!(added > 0.0, "a round trip takes time");
    print(
        &format!("added to a step in Python, two seats of {observed}"),
        added,
        "µs",
    );
    print(
        &format!("picture in Python, {drawn}"),
        micros(picture),
        "µs",
    );
}

/// The mean time of a step, and of a picture.
fn measure(host: &mut dyn HostedWorld) -> (Duration, Duration) {
    let mut picture = Picture::None;
    host.reset(1).expect("it is sound");
    let began = Instant::now();
    for at in 0..STEPS {
        host.step(&[(at % 2) as u16, 0]).expect("it is sound");
    }
    let step = began.elapsed() / STEPS as u32;
    let began = Instant::now();
    for _ in 0..STEPS / 10 {
        host.picture(0, &mut picture).expect("it is sound");
    }
    assert_ne!(picture, Picture::None);
    (step, began.elapsed() / (STEPS / 10) as u32)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn print(name: &str, value: f64, unit: &str) {
    println!(r#"{{"name":"{name}","value":{value:.1},"unit":"{unit}"}}"#);
}
