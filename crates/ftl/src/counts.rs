//! Counters that only grow, and their increase between two moments.

/// A count that only grows, or several of them.
pub trait Count {
    /// The increase since `before`, an earlier copy of this counter.
    fn since(&self, before: &Self) -> Self;
}

impl Count for u64 {
    #[inline]
    fn since(&self, before: &Self) -> Self {
        self - before
    }
}

impl<T: Count, const N: usize> Count for [T; N] {
    #[inline]
    fn since(&self, before: &Self) -> Self {
        std::array::from_fn(|index| self[index].since(&before[index]))
    }
}

/// Declares a struct of counts with `since`, so that no field can be forgotten there.
#[macro_export]
macro_rules! counts {
    (
        $(#[$about:meta])*
        $visible:vis struct $name:ident {
            $($(#[$meaning:meta])* pub $count:ident: $type:ty,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        $visible struct $name {
            $($(#[$meaning])* pub $count: $type,)+
        }

        impl $name {
            /// The increase since `before`, an earlier copy of these counters.
            $visible fn since(&self, before: &Self) -> Self {
                Self { $($count: $crate::Count::since(&self.$count, &before.$count),)+ }
            }
        }

        flashtwin_bits::state!($name { $($count),+ });

        impl $crate::Count for $name {
            fn since(&self, before: &Self) -> Self {
                $name::since(self, before)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    counts! {
        struct Fruit {
            pub apples: [u64; 2],
            pub pears: u64,
        }
    }

    counts! {
        struct Shop {
            pub sold: Fruit,
        }
    }

    #[test]
    fn what_was_counted_since_is_the_difference_of_every_count() {
        let before = Shop { sold: Fruit { apples: [1, 20], pears: 300 } };
        let now = Shop { sold: Fruit { apples: [3, 60], pears: 1100 } };
        assert_eq!(now.since(&before), Shop { sold: Fruit { apples: [2, 40], pears: 800 } });
        assert_eq!(now.since(&now), Shop::default());
    }
}
