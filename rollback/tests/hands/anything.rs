//! Any changes and packets, in any order.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn tick() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0_u32..40, 1 => any::<u32>()]
}

fn changes() -> impl Strategy<Value = Change> {
    let controller = prop_oneof![
        Just(Controller::Human),
        Just(Controller::Vacant),
        Just(ai())
    ];
    let parts = (0_u16..6, 0_u8..4, tick(), controller, 0_u8..6, tick());
    (parts, vec(0_u16..9, 0..40)).prop_map(|(parts, inputs)| {
        let (number, seat, tick, controller, life, from) = parts;
        Change {
            life: Life(life),
            from: Tick(from),
            ..take(number, seat, tick, controller, &inputs)
        }
    })
}

fn packets() -> impl Strategy<Value = Packet> {
    let parts = (
        0_u8..3,
        0_u8..4,
        0_u8..5,
        tick(),
        vec(0_u16..6, 0..40),
        tick(),
    );
    parts.prop_map(|(from, life, changes, first, inputs, have)| Packet {
        seats: 3,
        from,
        life,
        changes,
        first,
        inputs,
        have,
    })
}

#[derive(Clone, Debug)]
enum Thing {
    Change(Change),
    Packet(Packet),
    Durable(u32),
    Words(u8, u8, u32, Vec<u16>),
    Time(u64),
}

fn things() -> impl Strategy<Value = Thing> {
    prop_oneof![
        changes().prop_map(Thing::Change),
        packets().prop_map(Thing::Packet),
        tick().prop_map(Thing::Durable),
        (0_u8..4, 0_u8..4, tick(), vec(0_u16..9, 0..40))
            .prop_map(|(seat, life, first, inputs)| Thing::Words(seat, life, first, inputs)),
        (0_u64..6).prop_map(Thing::Time),
    ]
}

proptest! {
    #[test]
    fn may_be_told_and_what_is_final_stays(things in vec(things(), 0..120)) {
        let mut session = session(3);
        let mut tick = 0;
        for thing in things {
            let settled = session.settled().0;
            let before = session.rows()[..3 * settled as usize].to_vec();
            match thing {
                Thing::Change(mut change) => {
                    // Most are the next in order.
                    if change.number < 5 {
                        change.number = session.changes();
                    }
                    _ = session.handle_change(due(tick), &change, partner());
                }
                Thing::Packet(packet) => _ = packet.give(&mut session, due(tick)),
                Thing::Durable(through) => session.handle_durable(Tick(through), Tick(through)),
                Thing::Words(seat, life, first, inputs) => {
                    session.handle_inputs(due(tick), Seat(seat), Life(life), Tick(first), &inputs);
                }
                Thing::Time(ticks) => tick += ticks,
            }
            session.handle_timeout(due(tick));
            while session.poll_transmit().is_some() {}
            session.preview(|_| {});
            session.record_frame(0, false);
            prop_assert!(session.settled().0 >= settled);
            prop_assert_eq!(&session.rows()[..before.len()], &before);
            prop_assert!(session.confirmed() <= session.current());
        }
    }
}
