"""A small training whose photos are prepared one after the other, while the model waits."""

import time

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1)
torch.set_num_threads(1)


class Photos(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, index):
        time.sleep(0.002)  # a network drive that answers slowly
        photo = torch.randn(3, 48, 48)
        return (photo - photo.mean()) / photo.std(), index % 10


model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(32 * 48 * 48, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
loader = DataLoader(Photos(), batch_size=16, shuffle=True)

for epoch in range(3):
    for photos, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(photos), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
