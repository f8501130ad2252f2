//! Fused kernels over f32 slices in host memory, in threads and SIMD instructions.
//!
//! Every output element is summed in an order that does not depend on the other rows of a batch.

pub(crate) mod attention;
pub(crate) mod buffers;
pub(crate) mod gradient;
pub(crate) mod math;
pub(crate) mod panels;
mod shared;

/// Compiles a function twice on x86-64, for the baseline and for AVX2 with FMA, and calls the one that the processor can run.
macro_rules! vectorized {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn portable($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    portable($($arg),*)
                }
                if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
                    #[expect(unsafe_code, reason = "calls a function compiled for more features")]
                    // SAFETY: the two features that the function needs were just detected.
                    return unsafe { avx2($($arg),*) };
                }
            }
            portable($($arg),*)
        }
    };
}
pub(crate) use vectorized;
