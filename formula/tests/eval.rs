//! The results of each operation, and its refusals. How formulas are written is tested where they are read.

use std::collections::BTreeMap;

use formula::{EvalError, Expr, MAX_STEPS, Malformed, Op, Piece, Template, Value, eval};

fn expr(op: Op, args: impl Into<Vec<Expr>>) -> Expr {
    Expr::new(op, args.into()).expect("a formula of the tests is small")
}

fn number(number: f64) -> Expr {
    expr(Op::Number(number), [])
}

fn variable(name: &str) -> Expr {
    expr(Op::Variable(name.into()), [])
}

fn list(items: &[f64]) -> Expr {
    let items: Vec<Expr> = items.iter().map(|item| number(*item)).collect();
    expr(
        Op::List(u16::try_from(items.len()).expect("a list of the tests is short")),
        items,
    )
}

fn of(op: Op, args: impl Into<Vec<Expr>>) -> Result<Value, EvalError> {
    eval(&expr(op, args), &BTreeMap::new())
}

fn op(name: &str) -> String {
    name.to_owned()
}

#[test]
fn what_gives_no_finite_number_is_named() {
    assert_eq!(
        of(Op::Divide, [number(1.0), number(0.0)]),
        Err(EvalError::NotFinite(op("/")))
    );
    assert_eq!(
        of(Op::Divide, [number(0.0), number(0.0)]),
        Err(EvalError::NotFinite(op("/")))
    );
    assert_eq!(
        of(Op::Multiply, [number(1e200), number(1e200)]),
        Err(EvalError::NotFinite(op("*")))
    );
    assert_eq!(
        of(Op::Remainder, [number(1.0), number(0.0)]),
        Err(EvalError::NotFinite(op("%")))
    );
    assert_eq!(
        of(Op::Sum, [list(&[1e308, 1e308])]),
        Err(EvalError::NotFinite(op("sum")))
    );
    assert_eq!(
        of(Op::Number(f64::NAN), []),
        Err(EvalError::NotFinite(op("a constant")))
    );
    let scope = BTreeMap::from([(op("score"), Value::Number(f64::INFINITY))]);
    assert_eq!(
        eval(&variable("score"), &scope),
        Err(EvalError::NotFinite(op("score")))
    );
    let hidden = BTreeMap::from([(op("all"), Value::from(vec![f64::NAN]))]);
    let least = expr(Op::Min, [variable("all")]);
    assert_eq!(eval(&least, &hidden), Err(EvalError::NotFinite(op("min"))));
}

#[test]
fn there_is_no_negative_zero() {
    for result in [
        of(Op::Negate, [number(0.0)]),
        of(Op::Multiply, [number(-1.0), number(0.0)]),
        of(Op::Ceil, [number(-0.5)]),
        of(Op::Round2, [number(-0.001)]),
        of(Op::Min, [list(&[-0.0, 0.0])]),
    ] {
        let Ok(Value::Number(zero)) = result else {
            panic!("{result:?}")
        };
        assert_eq!(zero.to_bits(), 0);
    }
}

#[test]
fn lists_that_are_empty_have_a_sum_alone() {
    assert_eq!(of(Op::Sum, [list(&[])]), Ok(Value::Number(0.0)));
    for (fold, name) in [(Op::Mean, "mean"), (Op::Min, "min"), (Op::Max, "max")] {
        assert_eq!(of(fold, [list(&[])]), Err(EvalError::Empty(op(name))));
    }
}

#[test]
fn whole_numbers_are_asked_for_where_they_are_meant() {
    assert_eq!(
        of(Op::Remainder, [number(-7.0), number(3.0)]),
        Ok(Value::Number(-1.0))
    );
    assert_eq!(
        of(Op::Remainder, [number(7.5), number(2.0)]),
        Err(EvalError::NotWhole(op("%")))
    );
    assert_eq!(
        of(Op::Index, [list(&[4.0, 5.0]), number(1.0)]),
        Ok(Value::Number(5.0))
    );
    assert_eq!(
        of(Op::Index, [list(&[4.0]), number(0.5)]),
        Err(EvalError::NotWhole(op("[ ]")))
    );
    assert_eq!(
        of(Op::Index, [list(&[4.0]), number(1.0)]),
        Err(EvalError::NoItem(1))
    );
    assert_eq!(
        of(Op::Index, [list(&[4.0]), number(-1.0)]),
        Err(EvalError::NoItem(-1))
    );
}

#[test]
fn a_side_that_decides_is_enough() {
    let flag = |flag| expr(Op::Bool(flag), []);
    let missing = || variable("missing");
    let gone = Err(EvalError::Missing(op("missing")));
    assert_eq!(of(Op::Or, [missing(), flag(true)]), Ok(Value::Bool(true)));
    assert_eq!(of(Op::Or, [flag(true), missing()]), Ok(Value::Bool(true)));
    assert_eq!(of(Op::Or, [missing(), flag(false)]), gone);
    assert_eq!(of(Op::Or, [flag(false), missing()]), gone);
    assert_eq!(
        of(Op::And, [missing(), flag(false)]),
        Ok(Value::Bool(false))
    );
    assert_eq!(of(Op::And, [missing(), flag(true)]), gone);
    assert_eq!(
        of(Op::If, [flag(true), flag(false), missing()]),
        Ok(Value::Bool(false))
    );
    // 1 / item is infinite for the first item alone.
    let item = || expr(Op::Item(0), []);
    let large = || {
        expr(
            Op::Greater,
            [expr(Op::Divide, [number(1.0), item()]), number(0.4)],
        )
    };
    assert_eq!(
        of(Op::Exists, [list(&[0.0, 2.0]), large()]),
        Ok(Value::Bool(true))
    );
    assert_eq!(
        of(Op::All, [list(&[0.0, 4.0]), large()]),
        Ok(Value::Bool(false))
    );
    assert_eq!(
        of(Op::All, [list(&[0.0, 2.0]), large()]),
        Err(EvalError::NotFinite(op("/")))
    );
}

#[test]
fn the_wrong_type_is_named() {
    let text = || expr(Op::Text(op("a")), []);
    let wrong = |name, found| {
        Err(EvalError::Type {
            op: op(name),
            found,
        })
    };
    assert_eq!(of(Op::Add, [text(), number(1.0)]), wrong("+", "text"));
    assert_eq!(of(Op::Multiply, [text(), text()]), wrong("*", "text"));
    assert_eq!(of(Op::Not, [number(1.0)]), wrong("!", "a number"));
    assert_eq!(
        of(Op::Sum, [expr(Op::List(1), [text()])]),
        wrong("sum", "text")
    );
    assert_eq!(
        of(Op::Field(op("score")), [number(1.0)]),
        wrong("score", "a number")
    );
    assert_eq!(
        of(Op::Clamp, [number(1.0), number(3.0), number(2.0)]),
        Err(EvalError::Bounds)
    );
}

#[test]
fn an_evaluation_ends() {
    // Four loops of 1000 items inside each other, and a list that doubles at every step.
    let long = || list(&[1.0; 200]);
    let sum = |body| expr(Op::Sum, [expr(Op::Map, [long(), body])]);
    assert_eq!(
        eval(&sum(sum(sum(sum(number(1.0))))), &BTreeMap::new()),
        Err(EvalError::Steps)
    );
    let mut twice = long();
    for _ in 0..10 {
        twice = expr(
            Op::Map,
            [expr(Op::List(2), [number(1.0), number(1.0)]), twice],
        );
    }
    assert_eq!(eval(&twice, &BTreeMap::new()), Err(EvalError::Steps));
    let many = BTreeMap::from([(op("all"), Value::from(vec![1.0; 1000]))]);
    let squared = expr(Op::Map, [variable("all"), variable("all")]);
    assert_eq!(eval(&squared, &many), Err(EvalError::Steps));
    let none = expr(
        Op::Exists,
        [variable("all"), expr(Op::Not, [squared.clone()])],
    );
    assert_eq!(eval(&none, &many), Err(EvalError::Steps));
    let either = expr(Op::Or, [expr(Op::Not, [squared]), expr(Op::Bool(true), [])]);
    assert_eq!(eval(&either, &many), Err(EvalError::Steps));
    let text = Value::Text("x".repeat(16 * MAX_STEPS));
    let scope = BTreeMap::from([(op("text"), text)]);
    assert_eq!(
        eval(&expr(Op::Add, [variable("text"), variable("text")]), &scope),
        Err(EvalError::Steps)
    );
}

#[test]
fn trees_are_bounded() {
    let mut deep = number(1.0);
    let refused = loop {
        match Expr::new(Op::Negate, vec![deep]) {
            Ok(deeper) => deep = deeper,
            Err(why) => break why,
        }
    };
    assert_eq!(refused, Malformed::Depth);
    assert_eq!(
        Expr::new(Op::List(2000), vec![number(1.0); 2000]),
        Err(Malformed::Nodes)
    );
    assert_eq!(Expr::new(Op::Add, vec![number(1.0)]), Err(Malformed::Arity));
    // As bytes: a million times `!`.
    let bytes = postcard::to_allocvec(&vec![Op::Not; 1_000_000]).unwrap();
    assert!(postcard::from_bytes::<Expr>(&bytes).is_err());
    let rest = postcard::to_allocvec(&vec![Op::Bool(true), Op::Bool(true)]).unwrap();
    assert!(postcard::from_bytes::<Expr>(&rest).is_err());
}

#[test]
fn a_formula_is_small_in_bytes() {
    let reached = |name, least| expr(Op::GreaterEqual, [variable(name), number(least)]);
    let until = expr(
        Op::Or,
        [reached("score", 20.0), reached("elapsed_s", 180.0)],
    );
    let bytes = postcard::to_allocvec(&until).unwrap();
    // A byte for the length and for each of 7 operations, 8 for each number, and the two names with their lengths.
    assert_eq!(bytes.len(), 1 + 7 + 2 * 8 + 6 + 10);
    assert_eq!(postcard::from_bytes::<Expr>(&bytes), Ok(until));
}

#[test]
fn a_template_writes_values_into_its_text() {
    let soups = expr(Op::Divide, [variable("score"), number(20.0)]);
    let template = Template(vec![
        Piece::Text(op("Soups: ")),
        Piece::Formula(soups),
        Piece::Text(op(" of 3")),
    ]);
    let scope = |score| BTreeMap::from([(op("score"), Value::Number(score))]);
    assert_eq!(template.render(&scope(40.0)), "Soups: 2 of 3");
    assert_eq!(template.render(&scope(50.0)), "Soups: 2.5 of 3");
    assert_eq!(template.render(&BTreeMap::new()), "Soups: – of 3");
}

#[test]
fn a_value_is_json() {
    let json = r#"{"episodes":[{"score":40,"won":true}],"layout":"ring"}"#;
    let value: Value = serde_json::from_str(json).unwrap();
    let episode = Value::from([("score", Value::Number(40.0)), ("won", Value::Bool(true))]);
    let expected = Value::from([
        ("episodes", Value::from(vec![episode])),
        ("layout", "ring".into()),
    ]);
    assert_eq!(value, expected);
    let again = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), value);
    assert!(serde_json::from_str::<Value>("[null]").is_err());
}
