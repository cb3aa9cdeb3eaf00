export default function (pi: any) {
  pi.registerProvider("corp", {
    name: "Corp",
    baseUrl: "https://corp.example",
    api: "openai-completions",
    models: [{ id: "m", name: "M", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 100 }],
    oauth: {
      name: "Corporate",
      async login(callbacks: any) {
        callbacks.onAuth({ url: "https://corp.example/login" });
        const typed = await callbacks.onPrompt({ message: "Code?" });
        const chosen = await callbacks.onSelect({ message: "Which?", options: [{ id: "first", label: "1" }, { id: "second", label: "2" }] });
        callbacks.onProgress(`${typed}, ${chosen}`);
        callbacks.onDeviceCode({ userCode: "AB-CD", verificationUri: "https://corp.example/device", copyCodeOnConfirm: false });
        return { access: "a1", refresh: "r1", expires: 1, region: "eu" };
      },
      refreshToken: async (credentials: any) => ({ ...credentials, access: "a2" }),
      getApiKey: (credentials: any) => JSON.stringify({ token: credentials.access, region: credentials.region }),
    },
  });
}
