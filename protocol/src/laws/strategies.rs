//! Random headers, records and files of episodes.

use formula::{Expr, Op, Piece, Template};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::change::Change;
use crate::control::{EndReason, Timing};
use crate::log::{Ending, Header, LogWriter, Record};
use crate::{Controller, Life, MAX_SEATS, Seat, Tick};

pub(super) fn header(seats: usize) -> impl Strategy<Value = Header> {
    any::<Header>().prop_map(move |header| Header {
        participants: vec![String::from("P-7K3Q"); seats],
        controllers: vec![Controller::Human; seats],
        ..header
    })
}

/// Some formulas.
pub(crate) fn exprs() -> impl Strategy<Value = Expr> {
    let expr = |op, args| Expr::new(op, args).unwrap();
    (any::<f64>(), "[a-z_]{1,8}").prop_map(move |(number, name)| {
        let number = if number.is_finite() { number } else { 0.0 };
        let args = [Op::Variable(name), Op::Number(number)].map(|op| expr(op, Vec::new()));
        expr(Op::GreaterEqual, args.into())
    })
}

/// Some texts with formulas.
pub(crate) fn templates() -> impl Strategy<Value = Template> {
    let piece = prop_oneof![
        any::<String>().prop_map(Piece::Text),
        exprs().prop_map(Piece::Formula)
    ];
    vec(piece, 0..3).prop_map(Template)
}

#[derive(Clone, Debug)]
pub(super) enum Part {
    Actions(u8),
    Controller(Controller),
    Digest(Tick, Option<u8>, u64),
    Timing(Box<Timing>),
}

pub(super) fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (0..20_u8).prop_map(Part::Actions),
        any::<Controller>().prop_map(Part::Controller),
        any::<(Tick, Option<u8>, u64)>()
            .prop_map(|(tick, seat, digest)| Part::Digest(tick, seat, digest)),
        any::<Timing>().prop_map(|timing| Part::Timing(Box::new(timing))),
    ]
}

/// Records in order, as the archive writes them.
pub(super) fn records(seats: usize, parts: Vec<Part>, end: Option<i64>) -> Vec<Record> {
    let seat = |seat: usize| Seat(u8::try_from(seat % seats).unwrap());
    let (mut through, mut changes) = (0, 0);
    let mut lives = [Life(0); MAX_SEATS];
    let mut records: Vec<_> = parts
        .into_iter()
        .enumerate()
        .map(|(index, part)| match part {
            Part::Actions(ticks) => {
                let first = Tick(through);
                through += u32::from(ticks);
                Record::Actions {
                    first,
                    rows: vec![index as u16; usize::from(ticks) * seats],
                }
            }
            Part::Controller(controller) => {
                let seat = seat(index);
                let life = lives[seat.index()].next();
                lives[seat.index()] = life;
                changes += 1;
                Record::Change(Change {
                    number: changes - 1,
                    seat,
                    tick: Tick(through),
                    controller,
                    life,
                    from: Tick(through),
                    inputs: Vec::new(),
                    key: None,
                })
            }
            Part::Digest(tick, whose, digest) => Record::Digest {
                tick,
                seat: whose.map(|whose| seat(whose.into())),
                digest,
            },
            Part::Timing(timing) => Record::Timing {
                seat: seat(index),
                life: Life(0),
                timing: *timing,
            },
        })
        .collect();
    records.extend(end.map(|score| {
        Record::End(Ending {
            ticks: Tick(through),
            reason: EndReason::Played,
            score,
            digest: 7,
        })
    }));
    records
}

/// The file, and where each frame ends; the first end is that of the header.
pub(super) fn file(header: &Header, records: &[Record]) -> (Vec<u8>, Vec<usize>) {
    let (mut writer, mut bytes) = LogWriter::begin(header).unwrap();
    let mut ends = vec![bytes.len()];
    for record in records {
        writer.append(record, &mut bytes).unwrap();
        ends.push(bytes.len());
    }
    (bytes, ends)
}

pub(super) fn episode() -> impl Strategy<Value = (Header, Vec<Record>)> {
    (1..=MAX_SEATS).prop_flat_map(|seats| {
        (header(seats), vec(part(), 0..6), any::<Option<i64>>())
            .prop_map(move |(header, parts, end)| (header, records(seats, parts, end)))
    })
}
