//! Counters that some systems do not have.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Error, Serialize, Serializer};
use serde_json::{Map, Value};

/// The fields of a `T`, each `null` where there is none. Written so that another count of a struct needs no line here:
/// the names come from a `T` of zeros.
#[derive(Debug)]
pub(super) struct OrNull<T>(pub(super) Option<T>);

impl<T: Serialize + Default> Serialize for OrNull<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let zeros = T::default();
        let mut fields = serde_json::to_value(self.0.as_ref().unwrap_or(&zeros)).map_err(Error::custom)?;
        if self.0.is_none() {
            each_of(fields.as_object_mut()).for_each(|field| *field = Value::Null);
        }
        fields.serialize(serializer)
    }
}

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("OrNull_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        for kind in each_of(fields).filter_map(|field| field.get_mut("type")) {
            *kind = Value::from(vec![kind.take(), Value::from("null")]);
        }
        // Optional fields need not be there, as everywhere in the schema.
        schema.remove("required");
        schema
    }
}

fn each_of(fields: Option<&mut Map<String, Value>>) -> impl Iterator<Item = &mut Value> {
    fields.into_iter().flat_map(|fields| fields.values_mut())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(serde::Serialize, JsonSchema, Default)]
    struct Fruit {
        /// Apples, green and red.
        apples: u64,
        /// Pears.
        pears: u64,
    }

    #[derive(serde::Serialize, JsonSchema)]
    struct Shop {
        /// How many are left.
        left: u64,
        #[serde(flatten)]
        sold: OrNull<Fruit>,
    }

    #[test]
    fn fields_of_what_there_is_not_are_null_each() {
        let written = |sold| serde_json::to_value(Shop { left: 3, sold: OrNull(sold) }).unwrap();
        assert_eq!(
            written(Some(Fruit { apples: 2, pears: 0 })),
            json!({ "left": 3, "apples": 2, "pears": 0 })
        );
        assert_eq!(written(None), json!({ "left": 3, "apples": null, "pears": null }));
    }

    #[test]
    fn the_schema_is_that_of_fields_that_may_each_be_missing() {
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "for its schema")]
        struct Plain {
            /// How many are left.
            left: u64,
            /// Apples, green and red.
            apples: Option<u64>,
            /// Pears.
            pears: Option<u64>,
        }
        let (found, plain) = (schemars::schema_for!(Shop), schemars::schema_for!(Plain));
        for part in ["properties", "required"] {
            assert_eq!(found.get(part), plain.get(part));
        }
    }
    #[test]
    fn the_schema_is_called_after_what_may_be_missing() {
        assert_eq!(OrNull::<Fruit>::schema_name(), "OrNull_Fruit");
    }
}
