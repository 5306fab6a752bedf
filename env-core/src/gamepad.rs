//! Buttons of a gamepad, which mean actions like keys.

/// The beginning of every code of a button.
pub const PREFIX: &str = "Gamepad";

/// The codes of the buttons, in the order of the standard mapping of the W3C Gamepad specification (`Gamepad.buttons`).
/// The left stick presses the four directions, too.
pub const BUTTONS: [&str; 17] = [
    "GamepadSouth",
    "GamepadEast",
    "GamepadWest",
    "GamepadNorth",
    "GamepadLeftBumper",
    "GamepadRightBumper",
    "GamepadLeftTrigger",
    "GamepadRightTrigger",
    "GamepadSelect",
    "GamepadStart",
    "GamepadLeftStick",
    "GamepadRightStick",
    "GamepadUp",
    "GamepadDown",
    "GamepadLeft",
    "GamepadRight",
    "GamepadHome",
];
