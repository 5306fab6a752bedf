//! Whatever tree arrives: no panic, an end, finite numbers, and the same result again.

use std::collections::BTreeMap;

use formula::{Expr, Op, Value, eval};
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "missing"]).prop_map(str::to_owned)
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3_i8..20).prop_map(f64::from),
        prop::sample::select(vec![
            0.5,
            -0.0,
            1e300,
            f64::NAN,
            f64::INFINITY,
            9_007_199_254_740_993.0,
            5e-324
        ]),
        any::<f64>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        "[a-cä]{0,40}".prop_map(Value::Text),
    ];
    leaf.prop_recursive(3, 60, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Value::List),
            prop::collection::btree_map(name(), inner, 0..4).prop_map(Value::Record),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Op> {
    prop_oneof![
        any::<bool>().prop_map(Op::Bool),
        number().prop_map(Op::Number),
        name().prop_map(Op::Text),
        name().prop_map(Op::Variable),
        (0_u8..3).prop_map(Op::Item),
    ]
}

/// Every operation that has arguments.
fn branch() -> impl Strategy<Value = Op> {
    let plain = vec![
        Op::Index,
        Op::If,
        Op::And,
        Op::Or,
        Op::Not,
        Op::Equal,
        Op::NotEqual,
        Op::Less,
        Op::LessEqual,
        Op::Greater,
        Op::GreaterEqual,
        Op::Add,
        Op::Subtract,
        Op::Multiply,
        Op::Divide,
        Op::Remainder,
        Op::Negate,
        Op::In,
        Op::Map,
        Op::Filter,
        Op::Exists,
        Op::All,
        Op::Size,
        Op::Sum,
        Op::Mean,
        Op::Min,
        Op::Max,
        Op::Clamp,
        Op::Round2,
        Op::Floor,
        Op::Ceil,
        Op::Abs,
    ];
    prop_oneof![
        8 => prop::sample::select(plain),
        1 => (0_u16..5).prop_map(Op::List),
        1 => name().prop_map(Op::Field),
        1 => name().prop_map(Op::Has),
    ]
}

fn tree() -> impl Strategy<Value = Expr> {
    let leaf = leaf().prop_map(|op| Expr::new(op, Vec::new()).expect("no leaf has arguments"));
    leaf.prop_recursive(8, 200, 5, |inner| {
        (branch(), prop::collection::vec(inner, 5)).prop_map(|(op, mut args)| {
            args.truncate(op.arity());
            Expr::new(op, args).expect("a generated tree is small")
        })
    })
}

fn finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.is_finite() && (*number != 0.0 || number.is_sign_positive())
        }
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_tree_has_one_result(
        tree in tree(),
        scope in prop::collection::btree_map(name(), value(), 0..4),
    ) {
        let result = eval(&tree, &scope);
        if let Ok(value) = &result {
            prop_assert!(finite(value), "{value:?}");
        }
        let bytes = postcard::to_allocvec(&tree).unwrap();
        let again: Expr = postcard::from_bytes(&bytes).unwrap();
        prop_assert_eq!(postcard::to_allocvec(&again).unwrap(), bytes);
        // By its text, as a number that is none is not equal to itself inside a list.
        prop_assert_eq!(format!("{:?}", eval(&again, &scope)), format!("{result:?}"));
    }

    #[test]
    fn any_bytes_are_a_formula_or_refused(bytes in prop::collection::vec(0_u8..48, 0..300)) {
        if let Ok(tree) = postcard::from_bytes::<Expr>(&bytes) {
            let scope: BTreeMap<String, Value> = BTreeMap::new();
            let result = eval(&tree, &scope);
            // A formula that was accepted is written in one way alone, and reads back with the same value.
            let written = postcard::to_allocvec(&tree).unwrap();
            let again: Expr = postcard::from_bytes(&written).unwrap();
            prop_assert_eq!(postcard::to_allocvec(&again).unwrap(), written);
            prop_assert_eq!(format!("{:?}", eval(&again, &scope)), format!("{result:?}"));
        }
    }
}
