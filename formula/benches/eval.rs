//! How long one evaluation takes. Every result is checked.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a bench reads the clock"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use formula::{Expr, Op, Value, eval};

fn expr(op: Op, args: Vec<Expr>) -> Expr {
    Expr::new(op, args).expect("a formula of the bench is small")
}

fn variable(name: &str) -> Expr {
    expr(Op::Variable(name.into()), Vec::new())
}

fn number(number: f64) -> Expr {
    expr(Op::Number(number), Vec::new())
}

/// `score >= 20 || elapsed_s >= 180`
fn until() -> Expr {
    let reached = |name, least| expr(Op::GreaterEqual, vec![variable(name), number(least)]);
    expr(
        Op::Or,
        vec![reached("score", 20.0), reached("elapsed_s", 180.0)],
    )
}

/// `round2(clamp(0.02 * sum(play.episodes.map(e, e.score)), 0.0, 5.0))`
fn bonus() -> Expr {
    let episodes = expr(Op::Field("episodes".into()), vec![variable("play")]);
    let score = expr(
        Op::Field("score".into()),
        vec![expr(Op::Item(0), Vec::new())],
    );
    let sum = expr(Op::Sum, vec![expr(Op::Map, vec![episodes, score])]);
    let pay = expr(Op::Multiply, vec![number(0.02), sum]);
    expr(
        Op::Round2,
        vec![expr(Op::Clamp, vec![pay, number(0.0), number(5.0)])],
    )
}

fn time(name: &str, formula: &Expr, scope: &BTreeMap<String, Value>, result: &Value) {
    // The best of many short batches, so that what else runs on the machine does not count.
    const BATCHES: usize = 2000;
    const RUNS: u32 = 100;
    let batch = || {
        let start = Instant::now();
        for _ in 0..RUNS {
            let value = eval(black_box(formula), black_box(scope));
            assert_eq!(value.as_ref(), Ok(result));
        }
        start.elapsed()
    };
    let best = (0..BATCHES).map(|_| batch()).min().unwrap_or_default();
    println!("{name}: {} ns", best.as_nanos() / u128::from(RUNS));
}

fn main() {
    let episode = |score: f64| Value::from([("score", score)]);
    let episodes: Vec<Value> = (0..20).map(|n| episode(f64::from(n))).collect();
    let scope = BTreeMap::from([
        ("elapsed_s".to_owned(), Value::Number(12.0)),
        ("score".to_owned(), Value::Number(7.0)),
        (
            "play".to_owned(),
            Value::from([("episodes", Value::from(episodes))]),
        ),
    ]);
    time(
        "score >= 20 || elapsed_s >= 180",
        &until(),
        &scope,
        &Value::Bool(false),
    );
    time(
        "the bonus of 20 episodes",
        &bonus(),
        &scope,
        &Value::Number(3.8),
    );
}
