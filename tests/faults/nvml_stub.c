/* A libnvidia-ml.so.1 whose answers stand in the file named by NVML_STUB: one "key value" per line, read at each call,
   so that a GPU can be lost or a call can hang in the middle of a run. Two GPUs, and one MIG slice of the second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { int number; int mig; } device;
static device gpus[2] = {{0, 0}, {1, 0}};
static device slice = {1, 1};
static const char *uuids[2] = {"GPU-aaaa1111-0000", "GPU-bbbb2222-0000"};

static int setting(const char *key, int otherwise) {
    const char *path = getenv("NVML_STUB");
    FILE *file = path ? fopen(path, "r") : NULL;
    char name[64];
    int value, found = otherwise;
    if (!file) return otherwise;
    while (fscanf(file, "%63s %d", name, &value) == 2)
        if (!strcmp(name, key)) found = value;
    fclose(file);
    return found;
}

/* Each call may be given an error code, or made to hang, by its own key. */
static int outcome(const char *call, const device *gpu) {
    char key[64];
    snprintf(key, sizeof key, "hang_%s", call);
    while (setting(key, 0)) usleep(20000);
    if (setting("lost", 0)) return 15;
    snprintf(key, sizeof key, "error_%s", call);
    if (gpu && gpu->mig && !strcmp(call, "utilisation")) return 3;
    return setting(key, 0);
}

static int number(const char *call, const device *gpu, unsigned *out, int otherwise) {
    char key[64];
    int code = outcome(call, gpu);
    if (code) return code;
    snprintf(key, sizeof key, "%s_%d", call, gpu->number);
    *out = (unsigned)setting(key, otherwise);
    return 0;
}

const char *nvmlErrorString(int code) {
    return code == 3 ? "Not Supported" : code == 4 ? "Insufficient Permissions" : code == 15 ? "GPU is lost" : "stub error";
}
int nvmlInitWithFlags(unsigned flags) { (void)flags; return outcome("init", NULL); }
int nvmlInit_v2(void) { return outcome("init", NULL); }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = 2; return outcome("count", NULL); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    if (index > 1) return 2;
    *out = &gpus[index];
    return 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    if (!strncmp(uuid, "MIG-", 4)) { *out = &slice; return 0; }
    for (int i = 0; i < 2; i++) if (!strcmp(uuid, uuids[i])) { *out = &gpus[i]; return 0; }
    return 6;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out) {
    *out = &gpus[strstr(id, "02:00") != NULL];
    return 0;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *mig, void **out) { *out = &gpus[((device *)mig)->number]; return 0; }
int nvmlDeviceGetUUID(void *gpu, char *out, unsigned size) {
    snprintf(out, size, "%s", uuids[((device *)gpu)->number]);
    return 0;
}
int nvmlDeviceGetName(void *gpu, char *out, unsigned size) {
    int mixed = setting("mixed", 0) && ((device *)gpu)->number;
    snprintf(out, size, "%s", mixed ? "Stub B" : "Stub A");
    return outcome("name", gpu);
}
int nvmlDeviceGetUtilizationRates(void *gpu, unsigned out[2]) { out[1] = 0; return number("utilisation", gpu, &out[0], 50); }
int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long out[3]) {
    out[0] = 1000; out[1] = 750; out[2] = 250;
    return outcome("memory", gpu);
}
int nvmlDeviceGetPcieThroughput(void *gpu, int counter, unsigned *out) {
    return number(counter == 1 ? "rx" : "tx", gpu, out, 3000000);
}
int nvmlDeviceGetCurrPcieLinkGeneration(void *gpu, unsigned *out) { return number("generation", gpu, out, 3); }
int nvmlDeviceGetCurrPcieLinkWidth(void *gpu, unsigned *out) { return number("width", gpu, out, 8); }
int nvmlDeviceGetMaxPcieLinkGeneration(void *gpu, unsigned *out) { return number("max_generation", gpu, out, 4); }
int nvmlDeviceGetMaxPcieLinkWidth(void *gpu, unsigned *out) { return number("max_width", gpu, out, 16); }
