//! Where tests plant bugs, to see that the checks notice them (`tests/sabotage.rs`).

/// Whether a bug is to be made here and now, on such an occasion: outside tests never, and nothing is asked.
macro_rules! sabotaged {
    ($bug:ident) => {{
        #[cfg(test)]
        let sabotaged = crate::tests::planted(crate::tests::Bug::$bug);
        #[cfg(not(test))]
        let sabotaged = false;
        sabotaged
    }};
    ($bug:ident if $occasion:expr) => {{
        #[cfg(test)]
        let sabotaged = $occasion && crate::tests::planted(crate::tests::Bug::$bug);
        #[cfg(not(test))]
        let sabotaged = false;
        sabotaged
    }};
}
pub(crate) use sabotaged;
