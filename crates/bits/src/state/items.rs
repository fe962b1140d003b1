use std::io;
use std::slice;

use super::{Loader, Saver, State, unfit};
use crate::mixing::SplitMix64;

macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl State for $number {
            #[inline]
            fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
                to.put(&self.to_ne_bytes())
            }

            #[inline]
            fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
                let mut bytes = [0; size_of::<$number>()];
                from.take(&mut bytes)?;
                *self = <$number>::from_ne_bytes(bytes);
                Ok(())
            }

            fn blank() -> Option<Self> {
                Some(0)
            }

            fn save_all(items: &[Self], to: &mut Saver<'_>) -> io::Result<()> {
                // SAFETY: numbers are their bytes.
                to.put(unsafe { slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) })
            }

            fn load_all(items: &mut [Self], from: &mut Loader<'_>) -> io::Result<()> {
                // SAFETY: numbers are their bytes, and any bytes are numbers.
                from.take(unsafe { slice::from_raw_parts_mut(items.as_mut_ptr().cast(), size_of_val(items)) })
            }
        }
    )+};
}

numbers!(u8, u16, u32, u64, usize);

impl State for bool {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        u8::from(*self).save(to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        let mut byte = 0u8;
        byte.load(from)?;
        *self = match byte {
            0 => false,
            1 => true,
            _ => return Err(unfit("a yes or no is neither")),
        };
        Ok(())
    }

    fn blank() -> Option<Self> {
        Some(false)
    }
}

impl<T: State, const N: usize> State for [T; N] {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        T::save_all(self, to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        T::load_all(self, from)
    }

    fn blank() -> Option<Self> {
        let items: Vec<T> = (0..N).map(|_| T::blank()).collect::<Option<_>>()?;
        items.try_into().ok()
    }

    fn save_all(items: &[Self], to: &mut Saver<'_>) -> io::Result<()> {
        T::save_all(items.as_flattened(), to)
    }

    fn load_all(items: &mut [Self], from: &mut Loader<'_>) -> io::Result<()> {
        T::load_all(items.as_flattened_mut(), from)
    }
}

impl<A: State, B: State> State for (A, B) {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        self.0.save(to)?;
        self.1.save(to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        self.0.load(from)?;
        self.1.load(from)
    }

    fn blank() -> Option<Self> {
        Some((A::blank()?, B::blank()?))
    }
}

impl<T: State + ?Sized> State for Box<T> {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        (**self).save(to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        (**self).load(from)
    }
}

impl<T: State> State for Option<T> {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        self.is_some().save(to)?;
        self.as_ref().map_or(Ok(()), |item| item.save(to))
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        let mut there = false;
        there.load(from)?;
        if there && self.is_none() {
            *self = Some(T::blank().ok_or_else(|| unfit("a part is there that should not be"))?);
        } else if !there && self.is_some() {
            T::blank().ok_or_else(|| unfit("a part is missing"))?;
            *self = None;
        }
        self.as_mut().map_or(Ok(()), |item| item.load(from))
    }

    fn blank() -> Option<Self> {
        Some(None)
    }
}

impl State for SplitMix64 {
    fn save(&self, to: &mut Saver<'_>) -> io::Result<()> {
        self.0.save(to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> io::Result<()> {
        self.0.load(from)
    }
}
