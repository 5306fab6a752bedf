//! Answers of the process of a world, as the server reads them.

use env_core::contract::MAX_SEATS;
use env_core::draw::Shape;
use env_host::wire::{self, AnswerBuffer, AnswerKind, WireError};
use env_host::{HostFacts, HostStep, Picture};

/// The longest answer that is taken.
const LIMIT: usize = 1 << 16;

/// Lets bytes arrive in pieces, as the first byte says, and reads each answer for a world of two seats.
/// Whatever is not refused is finite, and of the size that it states.
pub fn host(bytes: &[u8]) {
    let Some((&first, bytes)) = bytes.split_first() else {
        return;
    };
    let mut buffer = AnswerBuffer::new(LIMIT);
    let mut bytes = bytes;
    while !bytes.is_empty() {
        // A pipe gives no more than is missing once the length is known.
        let piece = usize::from(first)
            .clamp(1, buffer.missing_bytes().max(1))
            .min(bytes.len());
        let (now, rest) = bytes.split_at(piece);
        bytes = rest;
        match buffer.handle_bytes(now) {
            Ok(false) => {}
            Err(_) => return,
            Ok(true) => {
                assert_eq!(buffer.missing_bytes(), 0);
                if let Ok((kind, body)) = buffer.read_answer() {
                    // A refusal ends the world.
                    if read(kind, body).is_err() {
                        return;
                    }
                }
                buffer.clear();
            }
        }
    }
}

/// The world that the answers are of.
pub(crate) fn facts() -> HostFacts {
    let mut facts = HostFacts::default();
    facts.spec.seats = 2;
    facts.spec.actions.resize_with(3, Default::default);
    facts.spec.events = vec!["hit".into()];
    facts
}

fn read(kind: AnswerKind, body: &[u8]) -> Result<(), WireError> {
    let facts = facts();
    match kind {
        AnswerKind::Ready => {
            let facts = wire::decode_facts(body)?;
            assert!((1..=MAX_SEATS).contains(&usize::from(facts.spec.seats)));
            assert!(usize::from(facts.spec.noop) < facts.spec.actions.len());
            assert!(facts.spec.observation_len() < 1 << 26);
        }
        AnswerKind::Stepped => {
            let mut step = HostStep::default();
            wire::decode_step(body, &facts, &mut step)?;
            assert!(step.outcome.rewards.iter().all(|reward| reward.is_finite()));
            assert!(
                step.outcome
                    .events
                    .iter()
                    .all(|event| event.kind == 0 && event.seat < 2)
            );
            assert!(
                step.infos
                    .iter()
                    .all(|info| info.seat.is_none_or(|seat| seat < 2))
            );
        }
        AnswerKind::Pixels | AnswerKind::Shapes | AnswerKind::NoPicture => {
            let mut picture = Picture::None;
            wire::decode_picture(kind, body, 1, &mut picture)?;
            check(&picture);
        }
        AnswerKind::Values => {
            let mut values = Vec::new();
            wire::decode_values(body, 4, &mut values)?;
            assert_eq!(values.len(), 4);
        }
        AnswerKind::Action => {
            let action = wire::decode_action(body, &facts)?;
            assert!(action.is_none_or(|action| action < 3));
        }
        AnswerKind::Fault => drop(wire::decode_fault(body)?),
        AnswerKind::Text | AnswerKind::Checked => {}
    }
    Ok(())
}

fn check(picture: &Picture) {
    match picture {
        Picture::None => {}
        Picture::Pixels(pixels) => {
            assert_eq!(
                pixels.rgb.len(),
                (pixels.width * pixels.height * 3) as usize
            );
        }
        Picture::List(list) => {
            assert!(list.width > 0.0 && list.height > 0.0);
            for item in &list.items {
                assert!(
                    [item.x, item.y, item.w, item.h]
                        .iter()
                        .all(|side| side.is_finite())
                );
                assert!(!matches!(item.shape, Shape::Sprite(index) if index > 0));
            }
        }
    }
}
