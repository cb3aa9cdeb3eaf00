//! Serializes values as compact JSON text in the style of `JSON.stringify`.
//!
//! A request repeats the complete conversation, so most of the output is long text. Characters to
//! escape are found with vector instructions, where `serde_json` checks each byte.

use serde::Serialize;
use serde::ser::{self, Error as _};
use serde_json::Error;

pub(super) struct JsonWriter<'out> {
    out: &'out mut Vec<u8>,
}

impl<'out> JsonWriter<'out> {
    pub(super) fn new(out: &'out mut Vec<u8>) -> Self {
        Self { out }
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, text: &str) {
        json_escape_simd::escape_into(text, self.out);
    }

    fn integer(&mut self, number: impl itoa::Integer) {
        self.text(itoa::Buffer::new().format(number));
    }

    fn open<'a>(&'a mut self, opening: &str, closing: &'static str) -> CompoundWriter<'a, 'out> {
        self.text(opening);
        CompoundWriter {
            writer: self,
            closing,
            first: true,
        }
    }

    /// Opens the object around the content of an enum variant.
    fn open_variant(&mut self, variant: &str) {
        self.out.push(b'{');
        self.string(variant);
        self.out.push(b':');
    }

    /// Writes a key, which must be a string in JSON: numbers and booleans are quoted.
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let start = self.out.len();
        key.serialize(&mut *self)?;
        match self.out.get(start) {
            Some(b'"') => Ok(()),
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                self.out.insert(start, b'"');
                self.out.push(b'"');
                Ok(())
            }
            _ => Err(Error::custom("keys of a JSON object must be strings")),
        }
    }
}

fn needs_no_escape(text: &str) -> bool {
    !text
        .bytes()
        .any(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'))
}

/// An array or object that is being written.
pub(super) struct CompoundWriter<'a, 'out> {
    writer: &'a mut JsonWriter<'out>,
    closing: &'static str,
    first: bool,
}

impl CompoundWriter<'_, '_> {
    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.writer.out.push(b',');
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.comma();
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        debug_assert!(needs_no_escape(name), "{name}");
        self.comma();
        // Field names are written in the program, and none needs an escape.
        self.writer.out.push(b'"');
        self.writer.text(name);
        self.writer.text("\":");
        value.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.text(self.closing);
    }
}

impl<'a, 'out> ser::Serializer for &'a mut JsonWriter<'out> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = CompoundWriter<'a, 'out>;
    type SerializeTuple = CompoundWriter<'a, 'out>;
    type SerializeTupleStruct = CompoundWriter<'a, 'out>;
    type SerializeTupleVariant = CompoundWriter<'a, 'out>;
    type SerializeMap = CompoundWriter<'a, 'out>;
    type SerializeStruct = CompoundWriter<'a, 'out>;
    type SerializeStructVariant = CompoundWriter<'a, 'out>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.text(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.integer(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a fractional number is not equal to its truncation"
        )]
        let integer = value as i64;
        #[expect(
            clippy::cast_precision_loss,
            clippy::float_cmp,
            reason = "a lossy conversion makes the two differ"
        )]
        let is_integer =
            integer.unsigned_abs() < 1 << f64::MANTISSA_DIGITS && integer as f64 == value;
        if is_integer {
            // Most numbers are integers, and the general path is many times slower.
            self.integer(integer);
        } else if value.is_finite() {
            // `JSON.stringify(-0)` is `0`, and ryu-js agrees.
            self.text(ryu_js::Buffer::new().format_finite(value));
        } else {
            self.text("null");
        }
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.string(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.text("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.open_variant(variant);
        value.serialize(&mut *self)?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        Ok(self.open("[", "]"))
    }

    fn serialize_tuple(self, _length: usize) -> Result<Self::SerializeTuple, Error> {
        Ok(self.open("[", "]"))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Ok(self.open("[", "]"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        self.open_variant(variant);
        Ok(self.open("[", "]}"))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Self::SerializeMap, Error> {
        Ok(self.open("{", "}"))
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStruct, Error> {
        Ok(self.open("{", "}"))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        self.open_variant(variant);
        Ok(self.open("{", "}}"))
    }
}

impl ser::SerializeSeq for CompoundWriter<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTuple for CompoundWriter<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTupleStruct for CompoundWriter<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTupleVariant for CompoundWriter<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for CompoundWriter<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.comma();
        self.writer.key(key)?;
        self.writer.out.push(b':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStruct for CompoundWriter<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStructVariant for CompoundWriter<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
        let mut out = Vec::new();
        value.serialize(&mut JsonWriter::new(&mut out))?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[derive(Serialize)]
    enum SampleEnum {
        Empty,
        Wrapped(u8),
        Pair(i8, char),
        Named {
            text: &'static str,
            missing: Option<u8>,
        },
    }

    #[derive(Serialize)]
    struct SampleUnit;

    #[derive(Serialize)]
    struct SampleTuple(u16, i32);

    #[test]
    fn every_kind_of_value_matches_serde_json() {
        let numbers = BTreeMap::from([(-1, true), (20, false)]);
        let flags = BTreeMap::from([(false, None), (true, Some('x'))]);
        let named = SampleEnum::Named {
            text: "a\"b",
            missing: None,
        };
        let all = (
            (
                SampleEnum::Empty,
                SampleEnum::Wrapped(7),
                SampleEnum::Pair(-3, '\n'),
                named,
            ),
            (SampleUnit, SampleTuple(1, -2), numbers, flags),
            (u64::MAX, i64::MIN, u128::MAX, i128::MIN),
            ([0u8; 0], Some("x"), None::<u8>, BTreeMap::<u8, u8>::new()),
        );
        assert_eq!(to_json(&all).unwrap(), serde_json::to_string(&all).unwrap());
    }

    #[test]
    fn numbers_without_a_json_form_are_null() {
        assert_eq!(
            to_json(&[f64::NAN, f64::INFINITY, -0.0, 1.0]).unwrap(),
            "[null,null,0,1]"
        );
    }

    #[test]
    fn a_key_that_is_not_a_string_is_an_error() {
        assert!(to_json(&BTreeMap::from([(vec![1], 1)])).is_err());
    }

    proptest! {
        #[test]
        fn escapes_match_serde_json(text in "(\\PC|[\\x00-\\x7f]|é|🦀){0,80}") {
            prop_assert_eq!(to_json(&text).unwrap(), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn writing_text_keeps_the_preceding_output(before in "[a-z\"]{0,70}", text in "[ -~\n]{0,70}") {
            let pair = [before, text];
            prop_assert_eq!(to_json(&pair).unwrap(), serde_json::to_string(&pair).unwrap());
        }
    }
}
