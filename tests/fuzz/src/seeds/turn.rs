//! Clients' messages to the TURN relay, for [`crate::turn`].

use std::net::SocketAddr;

use turn_types::attribute::{ChannelNumber, Data, Lifetime, RequestedTransport, XorPeerAddress};
use turn_types::channel::ChannelData;
use turn_types::message::{ALLOCATE, CHANNEL_BIND, CREATE_PERMISSION, REFRESH, SEND};
use turn_types::stun::attribute::AttributeWrite;
use turn_types::stun::message::{
    BINDING, Message, MessageClass, MessageType, MessageWrite as _, MessageWriteExt as _,
    MessageWriteVec, Method,
};

/// The number of every transaction: of a repeated request, the relay repeats the answer.
const TRANSACTION: u128 = 0x0102_0304;
const CHANNEL: u16 = 0x4001;

/// Commands of [`crate::turn`]: what to do, who, and a value.
fn step(what: u8, who: u8, value: u8) -> u8 {
    what | who << 3 | value << 5
}

fn bring(what: u8, who: u8, bytes: &[u8]) -> Vec<u8> {
    let [high, low] = (bytes.len() as u16).to_be_bytes();
    let mut command = vec![step(what, who, high), low];
    command.extend(bytes);
    command
}

fn plain(who: u8, bytes: &[u8]) -> Vec<u8> {
    bring(0, who, bytes)
}

fn signed(who: u8, bytes: &[u8]) -> Vec<u8> {
    bring(1, who, bytes)
}

fn message(class: MessageClass, method: Method, attributes: &[&dyn AttributeWrite]) -> Vec<u8> {
    let kind = MessageType::from_class_method(class, method);
    let mut message = Message::builder(kind, TRANSACTION.into(), MessageWriteVec::new());
    for &attribute in attributes {
        message.add_attribute(attribute).expect("it is short");
    }
    message.finish()
}

fn request(method: Method, attributes: &[&dyn AttributeWrite]) -> Vec<u8> {
    message(MessageClass::Request, method, attributes)
}

fn allocate() -> Vec<u8> {
    let transport = RequestedTransport::new(RequestedTransport::UDP);
    request(ALLOCATE, &[&transport])
}

fn refresh(seconds: u32) -> Vec<u8> {
    request(REFRESH, &[&Lifetime::new(seconds)])
}

/// The relayed address of the allocation with this number, from 1.
fn peer(number: u16) -> XorPeerAddress {
    let addr = SocketAddr::from(([203, 0, 113, 9], 0xc000 | number));
    XorPeerAddress::new(addr, TRANSACTION.into())
}

fn permit(number: u16) -> Vec<u8> {
    request(CREATE_PERMISSION, &[&peer(number)])
}

fn bind(number: u16) -> Vec<u8> {
    request(CHANNEL_BIND, &[&ChannelNumber::new(CHANNEL), &peer(number)])
}

fn indication(number: u16, data: &[u8]) -> Vec<u8> {
    let data = Data::new(data);
    message(MessageClass::Indication, SEND, &[&peer(number), &data])
}

fn channel_data(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4 + data.len()];
    ChannelData::new(CHANNEL, data).write_into_unchecked(&mut bytes);
    bytes
}

/// Two clients with allocations, each of which lets the other one speak.
fn pair(one: u8, other: u8) -> Vec<u8> {
    [
        signed(one, &allocate()),
        signed(other, &allocate()),
        signed(one, &permit(2)),
        signed(other, &permit(1)),
    ]
    .concat()
}

/// The bytes of a stream in two pieces.
fn pieces(who: u8, bytes: &[u8]) -> Vec<u8> {
    let (one, other) = bytes.split_at(bytes.len() / 3);
    [plain(who, one), plain(who, other)].concat()
}

pub(super) fn turns() -> Vec<(String, Vec<u8>)> {
    let allocated = signed(0, &allocate());
    let all = [0, 1, 2, 3].map(|who| signed(who, &allocate())).concat();
    let indications = [
        plain(0, &indication(2, b"tick")),
        plain(1, &indication(1, b"tock")),
    ];
    let channels = [
        signed(0, &bind(2)),
        plain(0, &channel_data(b"tick 1")),
        plain(1, &indication(1, b"tock")),
    ];
    // Over a stream, channel data is padded; two frames come in pieces that end elsewhere.
    let mut stream = channel_data(b"tick 1");
    stream.extend([0; 2]);
    stream.extend(indication(2, b"tock"));
    let streams = [pair(2, 0), signed(2, &bind(2)), pieces(2, &stream)];
    let much = indication(2, &[9; 600]);
    let waited = [vec![step(2, 0, 6)], allocated.clone(), allocated.clone()];
    let closed = [signed(2, &allocate()), vec![step(3, 2, 0)]];
    let swept = [allocated.clone(), vec![step(2, 0, 5), step(4, 0, 0)]];
    let with = |first: &[u8], then: &[Vec<u8>]| [first, &then.concat()].concat();
    [
        ("binding", plain(0, &request(BINDING, &[]))),
        ("allocate-unsigned", plain(0, &allocate())),
        ("allocate", allocated.clone()),
        ("refresh", with(&allocated, &[signed(0, &refresh(300))])),
        ("release", with(&allocated, &[signed(0, &refresh(0))])),
        ("permission", with(&allocated, &[signed(0, &permit(2))])),
        ("channel", with(&allocated, &[signed(0, &bind(2))])),
        ("indications", with(&pair(0, 1), &indications)),
        ("channels", with(&pair(0, 1), &channels)),
        ("streams", streams.concat()),
        (
            "strangers",
            with(&pair(0, 3), &[plain(0, &indication(2, b"hello"))]),
        ),
        ("full", all),
        (
            "budget",
            with(&pair(0, 1), &[plain(0, &much), plain(0, &much)]),
        ),
        ("stale", with(&allocated, &waited)),
        ("closed", closed.concat()),
        ("swept", swept.concat()),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}
