/* cublasLt.h - the part of cuBLASLt that kernels/cuda/ uses, on the host: a plain product, in the stream's order.
 * Names and the order of arguments are those of NVIDIA's reference.  shim_blas.there false: the library cannot be
 * opened. */
#ifndef CUDA_ON_CPU_CUBLASLT_H
#define CUDA_ON_CPU_CUBLASLT_H
#include "cuda_fp16.h"
#include "cuda_runtime.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68 };
enum cudaDataType { CUDA_R_32F = 0, CUDA_R_16F = 2 };
enum cublasLtMatmulPreferenceAttributes_t { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 };

struct shim_layout { cudaDataType type; uint64_t rows, cols; int64_t ld; };
typedef struct shim_layout *cublasLtMatrixLayout_t;
typedef struct shim_handle { int device; } *cublasLtHandle_t;
typedef struct shim_desc { int compute; } *cublasLtMatmulDesc_t;
typedef struct shim_preference { size_t space; } *cublasLtMatmulPreference_t;
struct cublasLtMatmulAlgo_t { uint64_t m, n, k; };
struct cublasLtMatmulHeuristicResult_t { cublasLtMatmulAlgo_t algo; size_t workspaceSize; };

struct shim_library { bool there = true; long calls = 0, open = 0; };
inline struct shim_library shim_blas; /* open: objects that are */

inline cublasStatus_t shim_blas_call()
{
    return shim_call() ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}
template <class T> cublasStatus_t shim_make(T **out, T is)
{
    if (shim_blas_call()) return CUBLAS_STATUS_NOT_SUPPORTED;
    *out = new T(is);
    shim_blas.open++;
    return CUBLAS_STATUS_SUCCESS;
}
template <class T> cublasStatus_t shim_unmake(T *p)
{
    delete p;
    shim_blas.open--;
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) { return shim_make(h, shim_handle{shim_current}); }
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) { return shim_unmake(h); }
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t c, cudaDataType)
{
    return shim_make(d, shim_desc{c});
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return shim_unmake(d); }
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType t, uint64_t rows,
                                                 uint64_t cols, int64_t ld)
{
    return shim_make(l, shim_layout{t, rows, cols, ld});
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return shim_unmake(l); }
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
    return shim_make(p, shim_preference{0});
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) { return shim_unmake(p); }
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                           cublasLtMatmulPreferenceAttributes_t, const void *v, size_t)
{
    p->space = *static_cast<const size_t *>(v);
    return shim_blas_call();
}

/* A kernel that fits m, n and k, and wants all the workspace it may have. */
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t a,
                                                     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                                     cublasLtMatrixLayout_t, cublasLtMatmulPreference_t p, int,
                                                     cublasLtMatmulHeuristicResult_t *out, int *n)
{
    if (shim_blas_call() || a->rows != c->rows || b->cols != c->cols || a->cols != b->rows)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *out = {{a->rows, b->cols, a->cols}, p->space};
    *n = 1;
    return CUBLAS_STATUS_SUCCESS;
}

inline void shim_product(const shim_layout &la, const unsigned short *a, const shim_layout &lb,
                         const unsigned short *b, const shim_layout &lc, float *c)
{
    for (uint64_t j = 0; j < lc.cols; j++)
        for (uint64_t i = 0; i < lc.rows; i++) {
            float sum = 0;
            for (uint64_t k = la.cols; k-- > 0;) /* not the order of our own kernels */
                sum += quant_f16(a[i + k * static_cast<uint64_t>(la.ld)]) *
                       quant_f16(b[k + j * static_cast<uint64_t>(lb.ld)]);
            c[i + j * static_cast<uint64_t>(lc.ld)] = sum;
        }
}

inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t, const void *alpha, const void *a,
                                     cublasLtMatrixLayout_t la, const void *b, cublasLtMatrixLayout_t lb,
                                     const void *beta, const void *, cublasLtMatrixLayout_t, void *d,
                                     cublasLtMatrixLayout_t ld, const cublasLtMatmulAlgo_t *algo, void *space,
                                     size_t bytes, cudaStream_t s)
{
    for (const void *p : {a, b, static_cast<const void *>(d), static_cast<const void *>(space)})
        if (reinterpret_cast<uintptr_t>(p) % 256) return CUBLAS_STATUS_INVALID_VALUE; /* what preferences suppose */
    const bool plain = *static_cast<const float *>(alpha) == 1 && *static_cast<const float *>(beta) == 0;
    if (shim_blas_call() || !plain || h->device != shim_current || algo->m != ld->rows || algo->n != ld->cols ||
        algo->k != la->cols || la->type != CUDA_R_16F || lb->type != CUDA_R_16F || ld->type != CUDA_R_32F)
        return CUBLAS_STATUS_INVALID_VALUE;
    shim_blas.calls++;
    const shim_layout ka = *la, kb = *lb, kd = *ld;
    shim_later(s, [=] {
        memset(space, 0xff, 4096); /* it is the library's */
        memset(static_cast<char *>(space) + bytes - 4096, 0xff, 4096);
        shim_product(ka, static_cast<const unsigned short *>(a), kb, static_cast<const unsigned short *>(b), kd,
                     static_cast<float *>(d));
    });
    return CUBLAS_STATUS_SUCCESS;
}

inline void *shim_blas_symbol(const char *name)
{
    if (!shim_blas.there) return nullptr;
#define SHIM_SYMBOL(f) \
    if (!strcmp(name, #f)) return reinterpret_cast<void *>(&f);
    SHIM_SYMBOL(cublasLtCreate) SHIM_SYMBOL(cublasLtDestroy) SHIM_SYMBOL(cublasLtMatmulDescCreate)
    SHIM_SYMBOL(cublasLtMatmulDescDestroy) SHIM_SYMBOL(cublasLtMatrixLayoutCreate)
    SHIM_SYMBOL(cublasLtMatrixLayoutDestroy) SHIM_SYMBOL(cublasLtMatmulPreferenceCreate)
    SHIM_SYMBOL(cublasLtMatmulPreferenceDestroy) SHIM_SYMBOL(cublasLtMatmulPreferenceSetAttribute)
    SHIM_SYMBOL(cublasLtMatmulAlgoGetHeuristic) SHIM_SYMBOL(cublasLtMatmul)
    return nullptr;
}
#endif
