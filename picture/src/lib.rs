//! Draw lists to SVG, PNG and pixels, natively.
