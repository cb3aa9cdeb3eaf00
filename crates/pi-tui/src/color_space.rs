//! Perceptual color spaces (`OKLab`, OKLCH, OKHSL) and the contrast between colors.
//!
//! Formulas: <https://bottosson.github.io/posts/oklab>, <https://bottosson.github.io/posts/colorpicker> and the
//! contrast ratio of WCAG 2. Lightness, chroma and saturation are in the range 0 to 1, hues in degrees.

/// Red, green and blue of an sRGB color.
pub type Rgb = (u8, u8, u8);

/// Steps of a bisection; each halves the error.
const BISECTION_STEPS: usize = 32;

/// How far a linear channel may leave the range 0 to 1 before a color counts as out of gamut. Next to blue the gamut
/// is slightly concave: without tolerance, a search for the largest chroma would stop early.
const GAMUT_TOLERANCE: f64 = 1e-3;

/// A color in OKLCH: lightness, chroma and hue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oklch {
    pub lightness: f64,
    pub chroma: f64,
    /// In degrees.
    pub hue: f64,
}

impl Oklch {
    pub fn from_rgb(rgb: Rgb) -> Self {
        let [red, green, blue] = linear(rgb);
        let long =
            (0.412_221_470_8 * red + 0.536_332_536_3 * green + 0.051_445_992_9 * blue).cbrt();
        let medium =
            (0.211_903_498_2 * red + 0.680_699_545_1 * green + 0.107_396_956_6 * blue).cbrt();
        let short =
            (0.088_302_461_9 * red + 0.281_718_837_6 * green + 0.629_978_700_5 * blue).cbrt();
        let lightness = 0.210_454_255_3 * long + 0.793_617_785_0 * medium - 0.004_072_046_8 * short;
        let a = 1.977_998_495_1 * long - 2.428_592_205_0 * medium + 0.450_593_709_9 * short;
        let b = 0.025_904_037_1 * long + 0.782_771_766_2 * medium - 0.808_675_766_0 * short;
        Self {
            lightness,
            chroma: a.hypot(b),
            hue: b.atan2(a).to_degrees().rem_euclid(360.0),
        }
    }

    /// Returns the color in sRGB. A color outside of the gamut keeps lightness and hue and loses chroma.
    pub fn to_rgb(self) -> Rgb {
        let lightness = self.lightness.clamp(0.0, 1.0);
        let chroma = self.chroma.max(0.0);
        let direction = Direction::of(self.hue);
        let chroma = if direction.is_in_gamut(lightness, chroma) {
            chroma
        } else {
            direction.max_chroma(lightness, chroma)
        };
        let [red, green, blue] = direction.linear(lightness, chroma).map(encode);
        (red, green, blue)
    }
}

/// Converts OKHSL to sRGB. Saturation is relative to what sRGB allows at the hue and lightness.
pub fn okhsl_to_rgb(hue: f64, saturation: f64, lightness: f64) -> Rgb {
    let saturation = saturation.clamp(0.0, 1.0);
    let lightness = toe_inverse(lightness.clamp(0.0, 1.0));
    let chroma = if lightness <= 0.0 || lightness >= 1.0 {
        0.0
    } else {
        okhsl_chroma(Direction::of(hue), saturation, lightness)
    };
    Oklch {
        lightness,
        chroma,
        hue,
    }
    .to_rgb()
}

/// Returns the contrast ratio of two colors, 1 to 21.
pub fn contrast(first: Rgb, second: Rgb) -> f64 {
    let (first, second) = (luminance(first), luminance(second));
    (first.max(second) + 0.05) / (first.min(second) + 0.05)
}

/// Returns the relative luminance, 0 to 1.
fn luminance(rgb: Rgb) -> f64 {
    let [red, green, blue] = linear(rgb);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// A hue as a unit vector in the plane of `OKLab`'s a and b.
#[derive(Clone, Copy)]
struct Direction {
    a: f64,
    b: f64,
}

impl Direction {
    fn of(hue: f64) -> Self {
        let radians = hue.to_radians();
        Self {
            a: radians.cos(),
            b: radians.sin(),
        }
    }

    fn linear(self, lightness: f64, chroma: f64) -> [f64; 3] {
        let (a, b) = (chroma * self.a, chroma * self.b);
        let long = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
        let medium = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
        let short = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
        [
            4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short,
            -1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short,
            -0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701_0 * short,
        ]
    }

    fn is_in_gamut(self, lightness: f64, chroma: f64) -> bool {
        let range = -GAMUT_TOLERANCE..=1.0 + GAMUT_TOLERANCE;
        self.linear(lightness, chroma)
            .iter()
            .all(|channel| range.contains(channel))
    }

    /// Returns the largest chroma inside of sRGB, at most `limit`.
    fn max_chroma(self, lightness: f64, limit: f64) -> f64 {
        bisect(limit, |chroma| self.is_in_gamut(lightness, chroma))
    }

    /// Returns lightness and chroma of the most colorful color of this hue.
    fn cusp(self) -> (f64, f64) {
        // The channels scale with the cube of the lightness, so their signs depend on chroma/lightness only.
        let ratio = bisect(2.0, |ratio| {
            let channels = self.linear(1.0, ratio);
            let brightest = channels.into_iter().fold(0.0, f64::max);
            channels
                .iter()
                .all(|channel| *channel >= -GAMUT_TOLERANCE * brightest)
        });
        let brightest = self.linear(1.0, ratio).into_iter().fold(0.0, f64::max);
        let lightness = (1.0 / brightest).cbrt();
        (lightness, lightness * ratio)
    }
}

/// Returns the largest value up to `limit` that satisfies a condition which holds for 0.
fn bisect(limit: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, limit);
    for _ in 0..BISECTION_STEPS {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the chroma of an OKHSL saturation: interpolated between three curves, so that equal saturation
/// looks equally colorful.
fn okhsl_chroma(direction: Direction, saturation: f64, lightness: f64) -> f64 {
    const MIDDLE: f64 = 0.8;
    let (cusp_lightness, cusp_chroma) = direction.cusp();
    let largest = direction.max_chroma(lightness, 0.5);
    let reach = (lightness * cusp_chroma / cusp_lightness)
        .min((1.0 - lightness) * cusp_chroma / (1.0 - cusp_lightness));
    let (rise, fall) = middle_slopes(direction);
    let smallest = soft_minimum(lightness * 0.4, (1.0 - lightness) * 0.8, 2);
    let middle =
        0.9 * (largest / reach) * soft_minimum(lightness * rise, (1.0 - lightness) * fall, 4);
    if saturation < MIDDLE {
        let part = saturation / MIDDLE;
        let start = MIDDLE * smallest;
        part * start / (1.0 - (1.0 - start / middle) * part)
    } else {
        let part = (saturation - MIDDLE) / (1.0 - MIDDLE);
        let start = (1.0 - MIDDLE) * (middle / MIDDLE).powi(2) / smallest;
        middle + part * start / (1.0 - (1.0 - start / (largest - middle)) * part)
    }
}

/// Returns the reciprocal sum of two lengths to a power: close to the smaller one, without a corner.
fn soft_minimum(first: f64, second: f64, power: i32) -> f64 {
    let sum = first.powi(-power) + second.powi(-power);
    sum.powf(-1.0 / f64::from(power))
}

/// Returns a smooth approximation of the cusp's slopes towards black and white.
fn middle_slopes(Direction { a, b }: Direction) -> (f64, f64) {
    let rise = 0.115_169_93
        + 1.0
            / (7.447_789_70
                + 4.159_012_40 * b
                + a * (-2.195_573_47
                    + 1.751_984_01 * b
                    + a * (-2.137_049_48 - 10.023_010_43 * b
                        + a * (-4.248_945_61 + 5.387_708_19 * b + 4.698_910_13 * a))));
    let fall = 0.112_396_42
        + 1.0
            / (1.613_203_20 - 0.681_243_79 * b
                + a * (0.403_706_12
                    + 0.901_481_23 * b
                    + a * (-0.270_879_43
                        + 0.612_239_90 * b
                        + a * (0.002_992_15 - 0.453_995_68 * b - 0.146_618_72 * a))));
    (rise, fall)
}

/// Converts the lightness of OKHSL to that of `OKLab`.
fn toe_inverse(lightness: f64) -> f64 {
    const K1: f64 = 0.206;
    const K2: f64 = 0.03;
    const K3: f64 = (1.0 + K1) / (1.0 + K2);
    (lightness * lightness + K1 * lightness) / (K3 * (lightness + K2))
}

fn linear((red, green, blue): Rgb) -> [f64; 3] {
    [red, green, blue].map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    })
}

fn encode(channel: f64) -> u8 {
    let channel = channel.clamp(0.0, 1.0);
    let value = if channel <= 0.003_130_8 {
        channel * 12.92
    } else {
        1.055 * channel.powf(1.0 / 2.4) - 0.055
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 255"
    )]
    let byte = (value * 255.0).round() as u8;
    byte
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// sRGB, then lightness, chroma and hue as in the CSS Color 4 examples.
    const PRIMARIES: [(Rgb, [f64; 3]); 5] = [
        ((255, 0, 0), [0.627_96, 0.257_68, 29.234]),
        ((0, 255, 0), [0.866_44, 0.294_83, 142.495]),
        ((0, 0, 255), [0.452_01, 0.313_21, 264.052]),
        ((255, 255, 0), [0.967_98, 0.211_01, 109.769]),
        ((255, 0, 255), [0.701_67, 0.322_49, 328.363]),
    ];

    #[test]
    fn oklch_has_the_published_values() {
        for (rgb, [lightness, chroma, hue]) in PRIMARIES {
            let color = Oklch::from_rgb(rgb);
            assert!(
                (color.lightness - lightness).abs() < 1e-4,
                "{rgb:?} {color:?}"
            );
            assert!((color.chroma - chroma).abs() < 1e-4, "{rgb:?} {color:?}");
            assert!((color.hue - hue).abs() < 1e-2, "{rgb:?} {color:?}");
        }
    }

    #[test]
    fn oklch_is_reversible() {
        for rgb in [
            (0, 0, 0),
            (255, 255, 255),
            (18, 52, 86),
            (200, 100, 7),
            (1, 254, 128),
        ] {
            assert_eq!(Oklch::from_rgb(rgb).to_rgb(), rgb);
        }
    }

    #[test]
    fn colors_outside_of_the_gamut_lose_chroma_only() {
        let color = Oklch {
            lightness: 0.7,
            chroma: 0.4,
            hue: 150.0,
        };
        let mapped = Oklch::from_rgb(color.to_rgb());
        assert!((mapped.lightness - 0.7).abs() < 0.01, "{mapped:?}");
        assert!((mapped.hue - 150.0).abs() < 1.0, "{mapped:?}");
        assert!(mapped.chroma < 0.4);
    }

    #[test]
    fn okhsl_has_the_published_values() {
        for (hue, saturation, lightness, expected) in [
            (29.2339, 1.0, 0.568_085, (255, 0, 0)),
            (142.4953, 1.0, 0.844_529, (0, 255, 0)),
            (264.0520, 1.0, 0.366_565, (0, 0, 255)),
            (0.0, 0.0, 1.0, (255, 255, 255)),
            (0.0, 1.0, 0.0, (0, 0, 0)),
            (120.0, 0.0, 0.5, (119, 119, 119)),
        ] {
            let (red, green, blue) = okhsl_to_rgb(hue, saturation, lightness);
            let near = |first: u8, second: u8| first.abs_diff(second) <= 3;
            assert!(
                near(red, expected.0) && near(green, expected.1) && near(blue, expected.2),
                "{hue} {saturation} {lightness}: {:?}, expected {expected:?}",
                (red, green, blue)
            );
        }
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        for (first, second, expected) in [
            ((0, 0, 0), (255, 255, 255), 21.0),
            ((255, 255, 255), (255, 255, 255), 1.0),
            ((0x77, 0x77, 0x77), (255, 255, 255), 4.48),
            ((0, 0, 255), (255, 255, 255), 8.59),
        ] {
            let ratio = contrast(first, second);
            assert!((ratio - expected).abs() < 0.01, "{ratio}");
        }
    }
}
