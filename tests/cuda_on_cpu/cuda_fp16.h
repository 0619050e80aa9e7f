/* cuda_fp16.h - halves as bits, and the two conversions that kernels/cuda/ uses. */
#ifndef CUDA_ON_CPU_FP16_H
#define CUDA_ON_CPU_FP16_H
#include <cstdint>
#ifdef __F16C__
#include <immintrin.h>
#endif
extern "C" float quant_f16(uint16_t h);
extern "C" uint16_t quant_to_f16(float f);
struct __half { unsigned short bits; };
inline __half __ushort_as_half(unsigned short u) { return {u}; }
inline unsigned short __half_as_ushort(__half h) { return h.bits; }
#ifdef __F16C__
inline float __half2float(__half h) { return _cvtsh_ss(h.bits); }
#else
inline float __half2float(__half h) { return quant_f16(h.bits); }
#endif
inline __half __float2half_rn(float f) { return {quant_to_f16(f)}; }
#endif
