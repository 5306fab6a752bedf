//! The functions of the interface: their names and types.

/// Type of the argument or of the result of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
}

/// Declares the functions of the interface, in order: name, type of the argument, type of the result.
macro_rules! exports {
    ($($variant:ident $name:literal $argument:expr => $result:expr;)*) => {
        /// A function that a module exports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Export {
            $(#[doc = concat!("`", $name, "`.")] $variant,)*
        }

        impl Export {
            /// Every function of the interface, in order.
            pub const ALL: [Self; 23] = [$(Self::$variant,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Type of its argument.
            pub fn argument(self) -> Option<Type> {
                match self {
                    $(Self::$variant => $argument,)*
                }
            }

            /// Type of its result.
            pub fn result(self) -> Option<Type> {
                match self {
                    $(Self::$variant => $result,)*
                }
            }
        }
    };
}

const NONE: Option<Type> = None;
const I32: Option<Type> = Some(Type::I32);
const I64: Option<Type> = Some(Type::I64);

exports! {
    Abi "coplay_abi" NONE => I32;
    Inbox "coplay_inbox" I32 => I32;
    Outbox "coplay_outbox" NONE => I32;
    Open "coplay_open" I32 => I32;
    Facts "coplay_facts" NONE => I32;
    Reset "coplay_reset" I64 => NONE;
    Step "coplay_step" I32 => I32;
    Observe "coplay_observe" I32 => I32;
    Describe "coplay_describe" I32 => I32;
    Draw "coplay_draw" NONE => I32;
    Save "coplay_save" I32 => NONE;
    Load "coplay_load" I32 => NONE;
    Digest "coplay_digest" NONE => I64;
    Score "coplay_score" NONE => I64;
    State "coplay_state" NONE => I32;
    Restore "coplay_restore" I32 => I32;
    Inject "coplay_inject" I32 => NONE;
    Mask "coplay_mask" I32 => I64;
    Acting "coplay_acting" NONE => I32;
    SeatScore "coplay_seat_score" I32 => I64;
    DrawFor "coplay_draw_for" I32 => I32;
    Point "coplay_point" I32 => I32;
    Plain "coplay_plain" NONE => I32;
}

impl Export {
    /// Checks whether a module may leave it out. Without it, every action is allowed, every seat acts in every step,
    /// has the score of the group and sees everything, no point means an action, and equal states have equal bytes.
    pub fn is_optional(self) -> bool {
        matches!(
            self,
            Self::Mask | Self::Acting | Self::SeatScore | Self::DrawFor | Self::Point | Self::Plain
        )
    }
}
