//! Which way datagrams travel is written down.

use super::*;

/// The ways that are written down, with the time in milliseconds.
fn routes(stage: &Stage, era: Era) -> Vec<(u8, u8, u64, Link)> {
    let routes = stage.shelf(era).routes.iter();
    let route = |record: &Record| match *record {
        Record::Route {
            seat,
            other,
            at_us,
            link,
        } => (seat.0, other.0, at_us / 1_000, link),
        _ => unreachable!("only these are kept here"),
    };
    routes.map(route).collect()
}

fn changed(stage: &mut Stage, conn: u64, era: Era, seat: u8, link: Link) {
    let seat = Seat(seat);
    stage.say(conn, ClientMessage::LinkChanged { era, seat, link });
}

fn ready(stage: &mut Stage, conn: u64, era: Era, links: Vec<Link>) {
    let rtt_us = vec![0; 2];
    stage.say(
        conn,
        ClientMessage::Ready {
            era,
            links,
            rtt_us,
            loss_permille: Vec::new(),
        },
    );
}

#[test]
fn ways_are_written_down_at_the_start_and_when_they_change() {
    let mut stage = Stage::new(Limits::default());
    let tokens = [stage.queue(1), stage.queue(2)];
    let era = stage.plan(1).unwrap().era;
    ready(&mut stage, 1, era, vec![Link::Direct, Link::Relay]);
    // It came up before the other page was ready.
    stage.wait(SECOND);
    changed(&mut stage, 1, era, 1, Link::Direct);
    ready(&mut stage, 2, era, vec![Link::Relay, Link::Direct]);
    let mut expected = vec![(0, 1, 1_000, Link::Direct), (1, 0, 1_000, Link::Relay)];
    assert_eq!(routes(&stage, era), expected);
    stage.wait(4 * SECOND);
    for _ in 0..2 {
        changed(&mut stage, 2, era, 0, Link::Direct);
    }
    // There is no link to the page itself, nor to nobody.
    changed(&mut stage, 2, era, 1, Link::Relay);
    changed(&mut stage, 2, era, 7, Link::Relay);
    expected.push((1, 0, 5_000, Link::Direct));
    assert_eq!(routes(&stage, era), expected);

    // A page that comes back says again how it reaches the other.
    stage.archive(1, era, 0, 10);
    stage.close(2);
    stage.silent(1, era, 1, true);
    stage.resume(3, &tokens[1], None);
    ready(&mut stage, 3, era, vec![Link::Relay, Link::Direct]);
    expected.push((1, 0, 5_000, Link::Relay));
    assert_eq!(routes(&stage, era), expected);
}

#[test]
fn a_page_tells_of_so_many_ways() {
    let mut stage = Stage::new(Limits {
        routes: 5,
        ..Limits::default()
    });
    let (era, ..) = stage.playing();
    for _ in 0..5 {
        changed(&mut stage, 1, era, 1, Link::Relay);
        changed(&mut stage, 1, era, 1, Link::Direct);
    }
    let of = |seat: u8| {
        let routes = routes(&stage, era);
        routes.iter().filter(|route| route.0 == seat).count()
    };
    assert_eq!((of(0), of(1)), (5, 1));
}
