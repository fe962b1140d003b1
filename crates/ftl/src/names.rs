use std::fmt::Debug;

/// The name of a variant in kebab case, as serde writes it: `end-of-period` of `EndOfPeriod`.
pub(crate) fn in_configurations(variant: impl Debug) -> String {
    let mut name = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}
